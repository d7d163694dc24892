"""Sitemaps and the HTML site map in a real Chromium; an app that adds a section."""
