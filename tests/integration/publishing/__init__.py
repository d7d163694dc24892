"""The public tree: stable names that web servers serve."""
