"""Builds without a database."""
