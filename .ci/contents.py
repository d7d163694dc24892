"""Look at what a source distribution and a wheel hold: all that they need, no more.

The names of the package's files are read from standard input.
"""

from __future__ import annotations

import sys
import tarfile
import zipfile
from pathlib import Path

[wheel], [sdist] = [list(Path(sys.argv[1]).glob(it)) for it in ("*.whl", "*.tar.gz")]
package = {*sys.stdin.read().split(), "django_sitemaps_plus/docs/reference/checks.md"}

with zipfile.ZipFile(wheel) as archive:
    names = set(archive.namelist())
    [info] = {name.split("/")[0] for name in names if ".dist-info/" in name}
    metadata = archive.read(f"{info}/METADATA").decode()
assert f"{info}/licenses/LICENSE" in names
assert "\n# django_sitemaps_plus\n" in metadata, "README is missing"
held = {name for name in names if not name.startswith(f"{info}/")}
assert held == package, f"differs: {sorted(held ^ package)}"

with tarfile.open(sdist) as archive:
    names = {name.partition("/")[2] for name in archive.getnames()}
needed = {"README.md", "LICENSE", "pyproject.toml", "setup.py"}
assert names >= needed, f"missing: {sorted(needed - names)}"
print("The wheel and the source distribution hold what they should.")
