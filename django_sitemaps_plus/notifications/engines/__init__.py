"""Search engines, one file each."""
