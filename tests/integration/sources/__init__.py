"""Sources, read from a real database."""
