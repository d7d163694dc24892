"""T31: two versions of a source build and save in turn, until those of one are gone."""

import random
from typing import Any

import pytest

from django_sitemaps_plus import ModelSource, Route
from django_sitemaps_plus.models import Change, Section
from django_sitemaps_plus.notifications.dispatch import notify_engines
from django_sitemaps_plus.registry import registry
from django_sitemaps_plus.testing import RecordingEngine
from tests.support.builds import build_and_relay, pass_grace
from tests.support.testapp.models import Author, Book

from .tools.killing import run_killed
from .tools.published import crawl, urls_of
from .tools.shop import IS_SOAK, ORIGIN, SEEDS, some_seed, unfinished

pytestmark = [pytest.mark.database, pytest.mark.django_db(transaction=True)]

ROUNDS = 60 if IS_SOAK else 8

AUTHORS, BOOKS = 12, 72

#: Steps of a build within which it is killed: most of them are statements.
WITHIN = 120


class Before(ModelSource):
    """All books, of which another version says more."""

    model = Book
    location = Route("book-detail", slug="slug")
    changefreq = "weekly"
    limit = 10


class After(Before):
    """Those of known authors, a relation that the other version does not watch."""

    changefreq = "daily"

    def get_queryset(self) -> Any:
        return super().get_queryset().exclude(author__name="unknown")


def become(version: type[ModelSource]) -> None:
    """Be a process of a version of the project from here on."""
    if "books" in registry:
        registry.unregister("books")
    registry.register("books", version)


def table() -> list[str]:
    slugs = After().get_queryset().values_list("slug", flat=True)
    return sorted(f"{ORIGIN}/books/{slug}/" for slug in slugs)


def save_some(chance: random.Random, number: int) -> set[str]:
    """Save a book and an author; return the URLs that this concerns."""
    book = chance.choice(list(Book.objects.order_by("pk")))
    concerned = {book.slug, f"edit-{number}"}
    book.slug = f"edit-{number}"
    book.save()
    author = chance.choice(list(Author.objects.order_by("pk")))
    author.name = "known" if author.name == "unknown" else "unknown"
    author.save()
    concerned |= set(author.book_set.values_list("slug", flat=True))
    return {f"{ORIGIN}/books/{slug}/" for slug in concerned}


@pytest.mark.parametrize("number", SEEDS)
def test_versions_that_build_and_save_in_turn(
    number, sections, configure, media_root, no_flush, quiet, figures
):
    """Nothing is marked to and fro, lost in the end, or announced for nothing."""
    engine = "django_sitemaps_plus.testing.RecordingEngine"
    waits = {"NOTIFY_DELAY_SECONDS": 0, "NOTIFY_INTERVAL_SECONDS": 0}
    configure(ENGINES={"it": {"BACKEND": engine}}, NOTIFY=True, **waits)
    RecordingEngine.clear()
    chance = random.Random(seed := some_seed(number))
    authors = [Author.objects.create(name="known") for _ in range(AUTHORS)]
    for n in range(BOOKS):
        Book.objects.create(author=authors[n % AUTHORS], slug=f"book-{n}")
    become(Before)
    build_and_relay()
    first = Section.objects.get(name="books").fingerprint
    edited, kills, bad = set[str](), 0, list[str]()
    for turn in range(ROUNDS):
        become(After if turn % 2 == 0 else Before)
        edited |= save_some(chance, turn)
        if turn % 3 == 0:
            kills += run_killed(build_and_relay, chance.randrange(1, WITHIN))
        changes = Change.objects.count()
        [report] = build_and_relay().sections
        section = Section.objects.get(name="books")
        if section.fingerprint == first or section.replaced != [first]:
            bad.append(f"turn {turn}: the earlier version took it over")
        if report.is_left != (turn % 2 == 1):
            bad.append(f"turn {turn}: is_left is {report.is_left}")
        if report.is_left and (report.rendered or Change.objects.count() < changes):
            bad.append(f"turn {turn}: it was not left alone")
    plan = sorted(section.pages.values_list("number", flat=True))
    become(After)
    build_and_relay()
    pass_grace()
    Section.objects.update(built_at=None)  # and no other process is left
    build_and_relay()
    notify_engines()
    told = set(RecordingEngine.told())
    bad += [f"{url} was announced" for url in told - edited]
    lost = [f"{url} is missing" for url in set(table()) - set(urls_of(crawl()))]
    lost += [f"{url} is extra" for url in set(urls_of(crawl())) - set(table())]
    # An author may have left and come back unseen; a new URL is always news.
    new = {url for url in table() if "/edit-" in url}
    lost += [f"{url} was not announced" for url in new - told]
    figures(
        "rolling deploys", seed=seed, points=ROUNDS, kills=kills, lost=lost, bad=bad
    )
    assert unfinished() == []
    assert plan == list(range(1, len(plan) + 1))
