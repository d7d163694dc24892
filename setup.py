"""Build with a page of the documentation, which pyproject.toml cannot name.

``sitemap_doctor --explain`` prints its entries, also where only a wheel is installed.
"""

from __future__ import annotations

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


setup(cmdclass={"build_py": BuildWithPage})
