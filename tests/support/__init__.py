"""support"""

from __future__ import annotations
