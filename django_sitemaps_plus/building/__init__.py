"""From sources to published files."""
