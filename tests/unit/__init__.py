"""Tests without a database; they mirror the package."""
