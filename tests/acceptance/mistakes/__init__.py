"""Mistakes as a user makes them, in a project on disk, and what the app says."""
