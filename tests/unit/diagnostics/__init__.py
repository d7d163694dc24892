"""Tests of what is maintained and monitored."""
