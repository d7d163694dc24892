"""mutants"""

from __future__ import annotations
