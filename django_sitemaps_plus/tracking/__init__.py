"""Tracking: saves become changes, and changes become dirty pages."""
