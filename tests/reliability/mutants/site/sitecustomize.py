"""Plants a mutant in every process whose PYTHONPATH has this directory."""

from __future__ import annotations

import os
import sys
from pathlib import Path

TOP = str(Path(__file__).parents[4])

sys.path.insert(0, TOP)
try:
    from tests.reliability.mutants.planting import MUTANTS, VARIABLE, plant
finally:
    sys.path.remove(TOP)

plant(MUTANTS[os.environ[VARIABLE]])
