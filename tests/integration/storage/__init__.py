"""Storage on a real file system."""
