"""Answers without a build."""
