"""What web servers see: the tree of public names."""

from __future__ import annotations
