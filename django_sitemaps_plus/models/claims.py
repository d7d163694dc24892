"""Claims of pages, and their states: a flip asks for the token of a claim again."""

from __future__ import annotations

import secrets
import time
from collections.abc import Callable, Collection, Iterator
from contextlib import AbstractContextManager, contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import partial
from typing import Any, Protocol, Self

from django.db import models
from django.db.models import Case, F, Q, Value, When
from django.db.models.functions import Greatest

from django_sitemaps_plus.conf import get_settings

from .base import M, RowQuerySet, retried
from .clock import Now
from .prepared import Rows, Update, prepared

#: Attempts without a result after which people are told that builders gave up. They
#: do not: there are pauses from then on.
MAX_ATTEMPTS = 5

#: Builders in a row that died of a page, after which it is tried once a day.
MAX_DEATHS = 3

#: Leases without a heartbeat after which people are told that a builder hangs or died.
LEASES_TOLD = 10


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


#: Pages that are claimed, rendered and flipped together: one transaction and one
#: flush of each directory for all of them.
BATCH_PAGES = 8

#: The longest pause of a page that fails, in seconds.
LONGEST_PAUSE = 3_600.0

#: How long a page that several builders died of is left alone.
PAUSE_AFTER_DEATHS = timedelta(days=1)

#: The fields of a page that nothing is known against: as if it were tried first.
UNTRIED: dict[str, Any] = {"attempts": 0, "deaths": 0, "not_before": None}


@dataclass(slots=True)
class _Lease:
    renew: Callable[[], object]
    seconds: float  # between two renewals
    renewed_at: float


_leases: ContextVar[tuple[_Lease, ...]] = ContextVar("leases", default=())


@contextmanager
def keep(renew: Callable[[], object], seconds: float | None = None) -> Iterator[None]:
    """Let each heartbeat within renew a lease, by default of LEASE_SECONDS, in time."""
    lasts = get_settings().lease_seconds if seconds is None else seconds
    lease = _Lease(renew, lasts / 6, time.monotonic())
    token = _leases.set((*_leases.get(), lease))
    try:
        yield
    finally:
        _leases.reset(token)


def heartbeat() -> None:
    """Renew the leases that the current work depends on; call it as the work goes on.

    A builder that has stopped does not call it, however long it stays connected.
    """
    now = time.monotonic()
    for lease in _leases.get():
        if now - lease.renewed_at > lease.seconds:
            lease.renew()
            lease.renewed_at = now


class Claimed(Protocol):
    """A page, as far as claims know it."""

    pk: Any
    token: str
    attempts: int
    wanted: int
    built: int
    low: str | None
    high: str | None


class PageClaimQuerySet(RowQuerySet[M]):
    """Pages by who is at work on them."""

    def with_section(self) -> Self:
        """Read the section with each page, and not the problems, which builders set."""
        return self.select_related("section").defer("problems")

    def planned(self) -> Self:
        """Return the pages of plans that are kept up to date."""
        return self.exclude(state=State.RETIRED)

    def dirty(self) -> Self:
        """Return the pages whose source has changed since they were rendered."""
        # A range: ordered by section and this, PostgreSQL takes the index of both.
        return self.planned().filter(is_dirty__gt=0)

    def claimable(
        self, since: datetime | None = None, lease: timedelta | None = None
    ) -> Self:
        """Return the dirty pages that no process is at work on.

        A claim counts as given up after the lease, or if it was made before ``since``,
        when the build began. Pages that failed after that are left alone. Others that
        failed have a pause, but for a newer change: the source may be well again.
        """
        lease = lease or get_settings().lease
        is_newer = Q(wanted__gt=F("tried"))
        given_up = Q(claimed_at=None) | Q(claimed_at__lt=Now() - lease)
        given_up |= is_newer & Q(token="")
        if since is not None:
            has_failed = Q(token="", claimed_at__gte=since)
            given_up = (given_up | Q(claimed_at__lt=since)) & ~has_failed
        due = Q(not_before=None) | Q(not_before__lte=Now())
        due |= is_newer & Q(deaths__lt=MAX_DEATHS)
        return self.dirty().filter(given_up, due).exclude(hold=Hold.HELD)

    def parked(self) -> Self:
        """Return the pages that were tried too often; they are tried again, rarely."""
        return self.dirty().filter(is_parked())

    @retried
    def claim(
        self, sections: Collection[int], *, since: datetime | None = None
    ) -> list[M]:
        """Take a batch of dirty pages to work on; none if nothing is left to do.

        A page that was claimed in vain before is taken alone: if it kills its builder,
        no other page is left alone for that.
        """
        shape = (tuple(sections), get_settings().lease)
        earlier: dict[str, Any] = {} if since is None else {"since": since}
        token = secrets.token_hex(16)
        while pages := (
            self.fresh(*shape, **earlier) or self.tried_before(*shape, **earlier)
        ):
            keys = [page.pk for page in pages]
            taken = self.taken(*shape, pages=keys, token=token, **earlier)
            if taken < len(pages):
                pages = self.with_token(pages=keys, token=token)
            else:
                for page in pages:
                    page.token, page.attempts = token, page.attempts + 1
            if pages:
                return pages
        return []

    @retried
    def claim_clean(self, page: Claimed) -> bool:
        """Take one page that is not dirty, in order to change its range."""
        token = secrets.token_hex(16)
        given_up = Q(token="") | Q(claimed_at__lt=Now() - get_settings().lease)
        quiet = self.filter(given_up, pk=page.pk, wanted=page.built)
        same = quiet.filter(built=page.built, low=page.low, high=page.high)
        page.token = token
        return bool(same.update(token=token, claimed_at=Now()))

    @retried
    def release(
        self,
        pages: Collection[Claimed],
        error: str = "",
        *,
        is_to_blame: bool = False,
        is_free: bool = False,
    ) -> None:
        """Give up pages, as they were claimed; they stay dirty.

        With an error they keep the time of their claim, so that no process of the same
        build tries them again; unless they are free, since it was not theirs. If they
        are to blame the attempt counts: the next builds try again, and after many
        attempts there are pauses, which grow.
        """
        # A deploy may have set both numbers to 0 meanwhile.
        fields: dict[str, Any] = {"deaths": Greatest(F("deaths"), 1) - 1}
        if error:
            fields["error"] = error[:2_000]
        if is_free or not error:
            fields["claimed_at"] = None
        if not is_to_blame:
            fields["attempts"] = Greatest(F("attempts"), 1) - 1
        for page in pages:
            fields["not_before"] = None
            many = page.attempts + 1 - MAX_ATTEMPTS
            if is_to_blame and many > 0:
                lease = get_settings().lease_seconds
                seconds = pause_seconds(many, lease, LONGEST_PAUSE)
                fields["not_before"] = Now() + timedelta(seconds=seconds)
            # The token is compared, since another may have taken the page over.
            mine = self.filter(pk=page.pk, token=page.token)
            mine.update(token="", **fields)

    def is_being_built(self, sections: Collection[int]) -> bool:
        """Return whether other processes are at work on dirty pages of sections."""
        return self._at_work().filter(section__in=sections).exists()

    def count_builders(self, site: str, names: Collection[str]) -> int:
        """Return how many builders, each with one token, are at work on sections."""
        pages = self._at_work().filter(section__site=site, section__name__in=names)
        return pages.values("token").distinct().count()

    def _at_work(self) -> Self:
        alive = self.dirty().filter(claimed_at__gte=Now() - get_settings().lease)
        return alive.exclude(token="")

    @retried
    def renew(self, pages: Collection[Claimed]) -> None:
        """Begin the lease of claims anew."""
        mine = self.filter(pk__in=[page.pk for page in pages])
        mine.filter(token__in={page.token for page in pages}).update(claimed_at=Now())

    def keep_claims(self, pages: Collection[Claimed]) -> AbstractContextManager[None]:
        """Keep the lease of pages, as they were claimed, at each heartbeat."""
        return keep(partial(self.renew, pages))

    @prepared
    def fresh(
        self, sections: tuple[int, ...], lease: timedelta, *, since: Any = None
    ) -> Rows:
        """Return claimable pages that were never claimed in vain."""
        free = self.claimable(since, lease).filter(section__in=sections, attempts=0)
        # In the order of an index: else a database may sort all dirty pages.
        return free.with_section().order_by("section_id", "is_dirty")[:BATCH_PAGES]

    @prepared
    def tried_before(
        self, sections: tuple[int, ...], lease: timedelta, *, since: Any = None
    ) -> Rows:
        """Return the claimable page that was claimed in vain least often, or none."""
        free = self.claimable(since, lease).filter(section__in=sections)
        return free.with_section().order_by("attempts", "id")[:1]

    @prepared
    def taken(
        self,
        sections: tuple[int, ...],
        lease: timedelta,
        *,
        pages: Any,
        token: Any,
        since: Any = None,
    ) -> Update:
        """Claim those of some pages that are still claimable."""
        free = self.claimable(since, lease).filter(section__in=sections)
        # The pause is written before the attempt, since a builder that dies of it
        # writes nothing; and first, since MariaDB reads columns as they are by then.
        is_last = When(deaths__gte=MAX_DEATHS - 1, then=Now() + PAUSE_AFTER_DEATHS)
        values = {
            "not_before": Case(is_last, default=Value(None)),
            "token": token,
            "claimed_at": Now(),
            "attempts": F("attempts") + 1,
            "deaths": F("deaths") + 1,
            "tried": F("wanted"),
        }
        return free.filter(pk__in=pages), values

    @prepared
    def with_token(self, *, pages: Any, token: Any) -> Rows:
        """Return those of some pages that were claimed with a token."""
        mine = self.filter(pk__in=pages, token=token)
        return mine.with_section().order_by("id")


def pause_seconds(failures: int, first: float, longest: float) -> float:
    """Return the pause after failures in a row: each is twice as long as the last."""
    return min(first * 2.0 ** min(max(failures, 1) - 1, 20), longest)


def has_failed(prefix: str = "") -> Q:
    """Return the condition on dirty pages that no builder could finish, by a path.

    A builder that left no error hangs or died, and no other has taken its page over.
    """
    told = Now() - LEASES_TOLD * get_settings().lease
    is_left = ~Q(**{f"{prefix}token": ""}) & Q(**{f"{prefix}claimed_at__lt": told})
    return ~Q(**{f"{prefix}error": ""}) | is_left


def is_parked(prefix: str = "") -> Q:
    """Return the condition on dirty pages that were tried too often, by a path."""
    often = Q(**{f"{prefix}attempts__gte": MAX_ATTEMPTS})
    return often | Q(**{f"{prefix}deaths__gte": MAX_DEATHS})
