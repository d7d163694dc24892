"""Migrations of sections and pages."""
