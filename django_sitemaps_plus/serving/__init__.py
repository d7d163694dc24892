"""Serving without a build: live pages, their cache and robots.txt."""
