"""The states of pages."""

from __future__ import annotations

from django.db import models

#: Attempts without a result after which people are told that builders gave up. They
#: do not: there are pauses from then on.
MAX_ATTEMPTS = 5

#: Builders in a row that died of a page, after which it is tried once a day.
MAX_DEATHS = 3


class State(models.TextChoices):
    """Which plan of its section a page belongs to."""

    ACTIVE = "active", "active"  # the one that is served and listed
    NEXT = "next", "next"  # a new one, that replaces it once all is built
    RETIRED = "retired", "retired"  # an old one; served until a crawler forgot it


class Hold(models.TextChoices):
    """The guard's word on a page that would lose most of its entries."""

    NONE = "", "none"  # nothing: it may be built
    HELD = "held", "held"  # it waits for the rest of its section
    RELEASED = "released", "released"  # it may lose them
