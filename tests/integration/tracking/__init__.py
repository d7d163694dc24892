"""Tests of noticing what has changed."""
