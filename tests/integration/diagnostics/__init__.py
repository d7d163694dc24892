"""Status and pruning."""
