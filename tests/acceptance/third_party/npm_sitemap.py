"""The documents of tests/golden, read and checked by the npm package ``sitemap``.

Run ``python -m tests.acceptance.third_party.npm_sitemap``, or the tests with
``SOAK=1``. It fetches the package, whose check is ``xmllint`` with a schema that names
those of the extensions; they are taken from ``tests/support/schemas``. Other sitemaps
may be given as arguments. The package has no schema for indexes and the mobile
extension.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

from lxml import etree

from tests.support.documents import SCHEMAS

GOLDEN = Path(__file__).parents[2] / "golden"

#: Prints how many entries each file has, or why it is not valid.
_PROGRAM = """
import {createReadStream as open, readFileSync as read} from 'node:fs'
import {parseSitemap, parseSitemapIndex, xmlLint} from 'sitemap'
process.chdir('node_modules/sitemap')
const found = {}
for (const name of process.argv.slice(2)) {
  const isIndex = read(name, 'utf8').includes('<sitemapindex')
  const parse = isIndex ? parseSitemapIndex : parseSitemap
  try {
    if (!isIndex) await xmlLint(open(name))
    found[name] = (await parse(open(name))).length
  } catch (error) {
    found[name] = String(error)
  }
}
console.log(JSON.stringify(found))
"""

_GOOGLE = "http://www.google.com/schemas"

#: What its schema imports, and the files that we have.
_IMPORTED = {
    f"{_GOOGLE}/sitemap-image/1.1/sitemap-image.xsd": "sitemap-image.xsd",
    f"{_GOOGLE}/sitemap-news/0.9/sitemap-news.xsd": "sitemap-news.xsd",
    f"{_GOOGLE}/sitemap-video/1.1/sitemap-video.xsd": "sitemap-video.xsd",
    "http://www.w3.org/2002/08/xhtml/xhtml1-strict.xsd": "xhtml-link.xsd",
}


def main() -> int:
    """Print what it finds; return 1 if that is not what we wrote."""
    files = [Path(it).resolve() for it in sys.argv[1:]] or sorted(GOLDEN.glob("*.xml"))
    wanted = {str(it): len(etree.parse(it).getroot()) for it in files}
    with tempfile.TemporaryDirectory() as directory:
        broken = Path(directory, "broken.xml")
        plain = (GOLDEN / "urlset-plain.xml").read_text()
        broken.write_text(plain.replace("</loc>", "</loc><lastmod>2026</lastmod>"))
        found = read_by_package(Path(directory), [*wanted, str(broken)])
        is_refused = isinstance(found.pop(str(broken)), str)
    for name, entries in found.items():
        sys.stdout.write(f"{name}: {entries}\n")
    return 0 if found == wanted and is_refused else 1


def read_by_package(directory: Path, files: list[str]) -> dict[str, int | str]:
    """Return how many entries the package finds in each file, or its error."""
    subprocess.run(["npm", "install", "--silent", "sitemap"], cwd=directory, check=True)
    catalog = directory / "catalog.xml"
    catalog.write_text(
        '<catalog xmlns="urn:oasis:names:tc:entity:xmlns:xml:catalog">'
        + "".join(
            f'<uri name="{url}" uri="{(SCHEMAS / name).as_uri()}"/>'
            for url, name in _IMPORTED.items()
        )
        + "</catalog>"
    )
    (directory / "read.mjs").write_text(_PROGRAM)
    environment = {**os.environ, "XML_CATALOG_FILES": str(catalog)}
    command = ["node", "read.mjs", *files]
    printed = subprocess.check_output(command, cwd=directory, env=environment)
    found: dict[str, int | str] = json.loads(printed)
    return found


if __name__ == "__main__":
    sys.exit(main())
