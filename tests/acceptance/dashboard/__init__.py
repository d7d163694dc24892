"""The dashboard in a real Chromium: all of its pages, and every action."""
