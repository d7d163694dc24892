"""Builds: from dirty pages to published objects."""
