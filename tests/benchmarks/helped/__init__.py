"""An app of processes that help to build: it has the section of the benchmark."""
