"""The parts of a sitemap: values and functions without Django, settings or a clock."""
