"""Migrations of the atlas."""
