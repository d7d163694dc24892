"""Diagnostics: what people are told of their sitemaps, and what they ask for."""
