"""Tests of the rules for sitemap files."""
