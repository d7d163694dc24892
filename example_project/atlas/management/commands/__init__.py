"""Management commands of the atlas."""
