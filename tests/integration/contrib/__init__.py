"""Tests of what stands in the place of other packages."""
