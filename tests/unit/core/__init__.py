"""Values and pure functions."""
