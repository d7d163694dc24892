"""Publishing: stable file names for web servers."""
