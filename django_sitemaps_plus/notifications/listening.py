"""Who is to hear of changes: every engine, and for one that is broken a stand-in."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import NoReturn

from django_sitemaps_plus.conf import Site
from django_sitemaps_plus.exceptions import RetryLater
from django_sitemaps_plus.models import Delivery

from .base import Batch, Engine
from .configuration import engine_class, engine_names, make_engine, working_engines


def listening_engines() -> Mapping[str, Engine]:
    """Return the engines by their names, with stand-ins for those that are broken.

    So what each must hear is kept until its settings are right, and none keeps back
    another.

    Raises:
        ConfigurationError: of one that is broken nobody knows what it takes.
    """
    working = working_engines()
    return {name: working.get(name) or _stand_in(name) for name in engine_names()}


def _stand_in(name: str) -> Engine:
    kind = engine_class(name)
    # Where there is no class, this says why.
    return make_engine(name) if kind is None else _StandIn(name, kind)


class _StandIn(Engine):
    """Takes what an engine of some class would, and is told nothing itself."""

    def __init__(self, name: str, kind: type[Engine]) -> None:
        self.name = name
        self.__dict__.update(takes=kind.takes, follows_content=kind.follows_content)

    def send(self, batch: Batch) -> NoReturn:
        """Raise."""
        raise RetryLater("It cannot be made.")

    def feeds(self, site: Site, indexes: Collection[str]) -> Collection[str]:
        """Return the feeds that are known already.

        Others it is told of as soon as it can be made.
        """
        rows = Delivery.objects.filter(site=site.name, engine=self.name, is_feed=True)
        # What was forgotten is none of them any more.
        rows = rows.filter(wanted__gt=0)
        return list(rows.values_list("target", flat=True))
