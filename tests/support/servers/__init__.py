"""Real servers that tests start, break and end themselves, on loopback only."""
