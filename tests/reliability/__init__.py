"""Tests of what must hold whatever happens; each prints its figures."""
