"""Publishing: stable file names for web servers, and pruning of what is old."""
