"""Build with what pyproject.toml cannot say: a page of the documentation, and README.

``sitemap_doctor --explain`` prints the page, also where only a wheel is installed.
"""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

from setuptools import setup
from setuptools.command.build_py import build_py

PAGE = "docs/reference/checks.md"


class BuildWithPage(build_py):
    """Copies the page into what is built; an editable install reads it in its place."""

    def build_package_data(self) -> None:
        """Copy the page as well."""
        super().build_package_data()
        target = Path(self.build_lib, "django_sitemaps_plus", PAGE)
        self.mkpath(str(target.parent))
        self.copy_file(PAGE, str(target))

    def get_source_files(self) -> list[str]:
        """Return what a source distribution has, of which a wheel may be built."""
        return [*super().get_source_files(), PAGE]


def absolute(text: str, source: str) -> str:
    """Return Markdown whose relative links lead into a repository, if one is given."""

    def begin(found: re.Match[str]) -> str:
        kind = "raw" if found[1].endswith(".png") else "blob"
        return f"]({source.rstrip('/')}/{kind}/HEAD/{found[1]})"

    return re.sub(r"\]\((?!\w+:|#)(\S+?)\)", begin, text) if source else text


if __name__ == "__main__":
    project = tomllib.loads(Path("pyproject.toml").read_text("utf-8"))["project"]
    source = project.get("urls", {}).get("Source", "")
    setup(
        cmdclass={"build_py": BuildWithPage},
        long_description=absolute(Path("README.md").read_text("utf-8"), source),
        long_description_content_type="text/markdown",
    )
