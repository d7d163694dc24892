"""Prepared queries and the verbs of rows."""
