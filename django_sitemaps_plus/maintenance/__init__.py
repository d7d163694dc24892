"""Maintenance: status, advice and pruning."""
