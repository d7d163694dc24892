"""The views, over Django's test client."""
