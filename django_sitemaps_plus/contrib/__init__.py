"""Sources for pages of other packages, which are imported only there."""
