"""Code that type checkers must accept."""
