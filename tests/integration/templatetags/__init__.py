"""Template tags, printed by real templates."""
