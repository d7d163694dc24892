"""Tests of the plan: which page owns which keys, and how that changes."""
