"""What the servers of tests/servers promise to tests."""
