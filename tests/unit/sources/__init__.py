"""Sources, as far as they work without a database."""
