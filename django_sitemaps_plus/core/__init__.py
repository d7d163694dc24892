"""What a sitemap is: pure values and functions, without Django, settings or a clock."""
