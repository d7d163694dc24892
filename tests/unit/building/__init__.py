"""building"""

from __future__ import annotations
