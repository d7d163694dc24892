"""A Django project that shows django_sitemaps_plus at work on the world's cities."""
