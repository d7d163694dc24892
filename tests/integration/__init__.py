"""Tests with a database and real storage; TEST_DB chooses the database."""
