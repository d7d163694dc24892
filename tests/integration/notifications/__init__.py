"""Engines that speak over HTTP."""
