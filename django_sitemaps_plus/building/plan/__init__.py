"""Plans of a section: numbering, replanning, splits and merges."""
