"""Models that tests register sources for; no module here may be named sitemaps."""
