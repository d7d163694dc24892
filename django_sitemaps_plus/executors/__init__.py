"""Executors: what runs background builds."""
