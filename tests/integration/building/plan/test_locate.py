"""Keys are located as the database would say, and mark the right page."""

import os
import random
import unicodedata
import uuid
from bisect import bisect_right

import pytest
from django.db import connection, models

from django_sitemaps_plus import ModelSource, Route
from django_sitemaps_plus.building.build import build
from django_sitemaps_plus.building.plan.replan import begin_replan
from django_sitemaps_plus.exceptions import StalePlanError
from django_sitemaps_plus.models import Change, PageQuerySet, Section
from django_sitemaps_plus.registry import registry
from django_sitemaps_plus.section import open_section
from django_sitemaps_plus.sources import keys as source_keys
from django_sitemaps_plus.sources import reader_of
from django_sitemaps_plus.sources.keys import KeySpace
from django_sitemaps_plus.tracking import locating
from django_sitemaps_plus.tracking.locating import locate, mark, mark_keys, owners
from tests.support.shop import limited
from tests.support.testapp.models import Product, Shop

from .plans import add, dirty, replace

pytestmark = pytest.mark.database


ALPHABET = "aAäÄàbBzZéEß .-_'\"%\\\\0129日本łŁÆæøØ~\U0001f600"
ROWS, BOUNDS = 1_100, 300

# Collations of strings, by database; each orders, and some equate, in its own way.
COLLATIONS = {
    "sqlite": [None, "NOCASE", "RTRIM"],
    "postgresql": [None, "C", "C.UTF-8", "en_US.utf8", "en-x-icu", "de-x-icu"],
    "mysql": [None, "utf8mb4_bin", "utf8mb4_unicode_ci", "utf8mb4_general_ci"],
}


def is_known(collation):
    """Return whether the server has a collation; some are built without ICU."""
    if collation is None or connection.vendor != "postgresql":
        return True
    with connection.cursor() as cursor:
        cursor.execute("SELECT 1 FROM pg_collation WHERE collname = %s", [collation])
        return cursor.fetchone() is not None


def random_key(kind, source):
    if kind == "integer":
        reach = source.choice([10**3, 10**6, 2**62])
        return source.randrange(-reach, reach)
    if kind == "uuid":
        return uuid.UUID(int=source.getrandbits(128))
    letters = [source.choice(ALPHABET) for _ in range(source.randrange(1, 9))]
    return unicodedata.normalize("NFC", "".join(letters))


def fill(model, kind, source):
    """Add rows; return their keys in the order of the database."""
    wanted = {random_key(kind, source) for _ in range(ROWS)}
    made = [model(pk=key) for key in sorted(wanted, key=str)]
    model.objects.bulk_create(made, ignore_conflicts=True)
    return list(model.objects.order_by("pk").values_list("pk", flat=True))


FIELDS = [
    ("integer", models.BigIntegerField, None),
    ("uuid", models.UUIDField, None),
    *[
        ("string", models.CharField, collation)
        for collation in COLLATIONS[os.environ.get("TEST_DB", "sqlite")]
    ],
]


@pytest.mark.parametrize(("kind", "field", "collation"), FIELDS)
def test_it_agrees_with_the_database_key_by_key(keyed, kind, field, collation):
    """Keys of 1,000 rows, and of some that have gone, among 300 bounds."""
    seed = random.SystemRandom().randrange(10**9)
    source = random.Random(seed)
    options = {"primary_key": True}
    if not is_known(collation):
        pytest.skip(f"this server has no collation {collation}")
    if kind == "string":
        options |= {"max_length": 40, "db_collation": collation}
    model = keyed(field(**options))
    keys = fill(model, kind, source)
    strangers = set(source.sample(range(len(keys)), len(keys) // 10))
    model.objects.filter(pk__in=[keys[n] for n in strangers]).delete()
    rows = sorted({*range(1, len(keys))} - strangers)
    positions = sorted(source.sample(rows, min(BOUNDS, len(rows) // 3)))
    lows = [None, *[str(keys[position]) for position in positions]]
    found = owners(KeySpace(model, "pk", "default"), lows, keys)
    expected = [bisect_right(positions, n) for n in range(len(keys))]
    assert found == expected, f"seed {seed}"


def test_keys_that_are_equal_to_a_bound_by_collation_belong_to_its_page(keyed):
    """Another spelling of the same key is the same key to its database."""
    collation = {"sqlite": "NOCASE", "mysql": "utf8mb4_unicode_ci"}.get(
        connection.vendor
    )
    if collation is None:
        pytest.skip("no collation of this database equates strings by itself")
    field = models.CharField(primary_key=True, max_length=40, db_collation=collation)
    model = keyed(field)
    model.objects.bulk_create([model(pk=key) for key in ("alpha", "beta", "gamma")])
    space = KeySpace(model, "pk", "default")
    spelled = ["BETA", "Beta", "beta", "ALPHA", "GAMMA", "bet", "betb"]
    assert owners(space, [None, "beta", "gamma"], spelled) == [1, 1, 1, 0, 2, 0, 1]


class TestCosts:
    @pytest.fixture
    def space(self, keyed):
        model = keyed(models.UUIDField(primary_key=True))
        return KeySpace(model, "pk", "default")

    @pytest.fixture
    def bounds(self):
        return [uuid.UUID(int=n << 100) for n in range(1, 12_001)]

    def test_twelve_thousand_bounds_take_few_queries(
        self, space, bounds, django_assert_num_queries
    ):
        """However many keys are located, up to a batch; and if they ascend, one."""
        lows = [None, *map(str, bounds)]
        order = random.Random(1).sample(range(12_000), 1_000)
        with django_assert_num_queries(3):
            found = owners(space, lows, [bounds[n] for n in order])
        assert found == [n + 1 for n in order]
        with django_assert_num_queries(1):
            assert space.ascends(lows[1:])

    def test_integers_take_none(self, keyed, django_assert_num_queries):
        model = keyed(models.BigIntegerField(primary_key=True))
        lows = [None, *map(str, range(12_000))]
        with django_assert_num_queries(0):
            found = owners(KeySpace(model, "pk", "default"), lows, [5, 11_999, -1])
        assert found == [6, 12_000, 0]

    def test_more_keys_than_a_query_may_hold_are_sorted_in_parts(
        self, space, bounds, monkeypatch, django_assert_num_queries
    ):
        """A related object may concern any number of rows."""
        monkeypatch.setattr(locating, "KEYS_PER_QUERY", 100)
        lows = [None, *map(str, bounds[:50])]
        with django_assert_num_queries(3):
            found = owners(space, lows, bounds[:250])
        assert found == [min(n, 50) for n in range(1, 251)]

    def test_more_bounds_than_a_query_may_hold_are_asked_in_parts(
        self, space, bounds, monkeypatch, django_assert_num_queries
    ):
        """Two that have changed places are found, at the end of a part as well."""
        monkeypatch.setattr(source_keys, "BOUNDS_AT_ONCE", 10)
        texts = [str(bound) for bound in bounds[:35]]
        with django_assert_num_queries(4):
            assert space.ascends(texts)
        for at in (9, 10, 11, 33):
            swapped = [*texts[:at], texts[at + 1], texts[at], *texts[at + 2 :]]
            assert not space.ascends(swapped)


@pytest.mark.parametrize(
    ("field", "key"), [(models.IntegerField, 1), (models.UUIDField, uuid.UUID(int=1))]
)
def test_bounds_of_another_type_are_refused(keyed, field, key):
    """Integers are parsed, all else is read by the key's field."""
    space = KeySpace(keyed(field(primary_key=True)), "pk", "default")
    with pytest.raises(StalePlanError):
        owners(space, [None, "a-slug"], [key])


@pytest.fixture
def section(spaced):
    return spaced(30)


def find(section, *keys):
    return locate(section, reader_of(registry.get("products")).key_space(), keys)


def number_of(section, located):
    rows = section.pages.filter(pk__in=located.pages).order_by("number")
    return list(rows.values_list("number", flat=True))


def split_page_two():
    add(111, 112)
    build()


def merge_two_and_three():
    Product.objects.filter(pk__in=[*range(110, 200, 10), *range(220, 310, 10)]).delete()
    build(allow_shrink=True)


def replan():
    replace(limited(7))
    build(replan=True)


@pytest.mark.parametrize(
    ("change", "before", "after"),
    [(split_page_two, [2], [4]), (merge_two_and_three, [3], [2]), (replan, [2], [6])],
)
def test_a_plan_that_changes_after_a_key_was_located(section, change, before, after):
    """The old answer marks nothing; located again, the key marks its new page.

    The change stays until then.
    """
    key = 200 if change is not merge_two_and_three else 210
    located = find(section, key)
    assert number_of(section, located) == before
    change()
    assert dirty(section) == []
    waiting = Change.objects.create(section="products", kind="key", low=str(key))
    assert mark(section, located, changes=[waiting]) is False
    assert (dirty(section), list(Change.objects.all())) == ([], [waiting])
    assert mark(section, find(section, key), changes=[waiting]) is True
    assert (dirty(section), Change.objects.count()) == (after, 0)


def test_a_first_page_that_splits_between_two_looks(section, monkeypatch):
    """Found on no page with a begin, its key is not taken for one of the first."""
    real = PageQuerySet.owners_from_below

    def interrupted(*args, **kwargs):
        found = real(*args, **kwargs)
        monkeypatch.setattr(PageQuerySet, "owners_from_below", real)
        add(11, 12)
        build()
        return found

    monkeypatch.setattr(PageQuerySet, "owners_from_below", interrupted)
    space = reader_of(registry.get("products")).key_space()
    mark_keys(section, space, [95])
    assert dirty(section) == [4]


def test_keys_and_ranges_are_located(section):
    """The first range has no begin, the last no end; of ranges both ends count."""
    assert number_of(section, find(section, -(10**9))) == [1]
    assert number_of(section, find(section, 10**12)) == [3]
    space = reader_of(registry.get("products")).key_space()
    located = locate(section, space, [], [(100, 110), (215, 215)])
    assert number_of(section, located) == [1, 2, 3]


@pytest.mark.parametrize("first_halves", ["differ", "are alike"])
def test_a_few_uuids_are_located_as_by_the_whole_plan(
    sections, monkeypatch, first_halves
):
    """The plan is read only if its bounds are not in the order of their numbers."""
    differ = first_halves == "differ"
    source = random.Random(1)
    numbers = [source.getrandbits(128 if differ else 64) for _ in range(30)]
    made = [uuid.UUID(int=it, version=4 if differ else None) for it in numbers]
    Shop.objects.bulk_create([Shop(pk=key) for key in made])
    location = Route("shop-detail", pk="pk")
    attributes = {"model": Shop, "location": location, "limit": 5}
    sections.register("products", type("ShopSource", (ModelSource,), attributes))
    build()
    section = Section.objects.get(name="products")
    with monkeypatch.context() as patch:
        patch.setattr(locating, "FEW_KEYS", 0)
        pages = [find(section, key).pages for key in made]
    assert len(set(pages)) > 4

    if differ and connection.vendor != "mysql":  # MariaDB sorts in an order of its own
        monkeypatch.setattr(locating, "plans", None)
    assert [find(section, key).pages for key in made] == pages


def test_while_a_plan_is_coming_a_key_marks_its_page_in_both(section):
    """Else the new one would be out of date the moment it is served."""
    replace(limited(7))
    begin_replan(open_section(Section.objects.get(pk=section.pk)))
    located = find(section, 110)
    states = section.pages.filter(pk__in=located.pages).values_list("state", flat=True)
    assert sorted(states) == ["active", "next"]
