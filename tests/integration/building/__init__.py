"""Builds, from rows to published objects."""
