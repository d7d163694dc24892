"""Management of the atlas."""
