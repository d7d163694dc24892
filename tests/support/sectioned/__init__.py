"""An app whose sections are those that a test names in WORKER_SECTIONS."""
