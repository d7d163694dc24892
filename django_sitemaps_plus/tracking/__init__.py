"""A save became a change; changes become dirty pages."""
