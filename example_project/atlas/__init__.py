"""The atlas: a page for every country and city of the GeoNames data."""
