"""States of products, pages and files in which builds begin, and begin again."""

from __future__ import annotations

import shutil
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from django.core.cache import cache
from django.db import connection, connections

from tests.support.testapp.models import Product

from .shop import PlainSource, add, publish, rename, stock


class LargeSource(PlainSource):
    """Enough entries on few pages for the shrink guard to look at them."""

    limit = 40


def first_build() -> None:
    """Have rows, and nothing built."""
    stock(40)


def edits_and_a_split() -> None:
    """Have changes on three of four pages; one of them will not hold its rows."""
    publish(40)
    rename([0, 3_900], "renamed")
    Product.objects.get(pk=1_500).delete()
    add(range(1_001, 1_007))


def deletions_and_merges() -> None:
    """Have pages that lose most of their rows, so that neighbours merge."""
    publish(160, LargeSource)
    Product.objects.filter(pk__gte=800, pk__lt=11_900).delete()
    rename([15_900], "renamed")


@dataclass(frozen=True)
class Template:
    """Database and files as they are before the build; copied for each step."""

    directory: Path
    media: Path

    @classmethod
    def take(cls, directory: Path, media: Path) -> Template:
        """Keep what there is now."""
        directory.mkdir()
        media.mkdir(parents=True, exist_ok=True)
        shutil.copytree(media, directory / "media")
        with connection.cursor() as cursor:
            cursor.execute("VACUUM INTO %s", [str(directory / "db")])
        return cls(directory, media)

    def restore(self) -> None:
        """Make everything as it was."""
        connections.close_all()
        name = Path(connection.settings_dict["NAME"])
        for suffix in ("-wal", "-shm"):
            name.with_name(name.name + suffix).unlink(missing_ok=True)
        shutil.copyfile(self.directory / "db", name)
        shutil.rmtree(self.media)
        shutil.copytree(self.directory / "media", self.media)
        cache.clear()


#: What there is before a build, and the options of the build.
STATES: list[tuple[Any, dict[str, Any]]] = [
    (first_build, {}),
    (edits_and_a_split, {}),
    (deletions_and_merges, {"allow_shrink": True}),
]
