"""The dashboard in the admin, and what editors see on their objects."""
