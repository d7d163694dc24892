"""Pages that time makes old: by lastmods, by the clock, by their age, by the audit."""

from datetime import UTC, date, datetime, timedelta
from typing import Any

import pytest
from django.contrib.sitemaps import Sitemap
from django.db import connection, models
from django.db.models import (
    Case,
    DateTimeField,
    Exists,
    F,
    Func,
    OuterRef,
    Q,
    QuerySet,
    Value,
    When,
    functions,
    lookups,
)
from django.utils import timezone

from django_sitemaps_plus import News, ViewSource, notify_changed
from django_sitemaps_plus.building import build as building
from django_sitemaps_plus.building import settle
from django_sitemaps_plus.building.build import build
from django_sitemaps_plus.models import Page, Publication, Section
from django_sitemaps_plus.models.clock import Now
from django_sitemaps_plus.registry import registry
from django_sitemaps_plus.section import open_section
from django_sitemaps_plus.signals import urls_changed
from django_sitemaps_plus.tracking import schedule
from tests.support.builds import build_and_relay, pass_grace
from tests.support.shop import START, ProductSource, limited, make_products
from tests.support.testapp.models import Event, Place, Product
from tests.support.told import hearing

from .rows import (
    HOUR,
    MINUTE,
    NOW,
    EventSource,
    PlaceSource,
    become,
    dirty,
    make_older,
    page_of,
    recorded,
)

YEAR = timedelta(days=365)


@pytest.fixture
def section(shop):
    return shop(12, limit=3)


def rendered(**options):
    return build(**options).sections[0].rendered


def opened(section):
    return open_section(Section.objects.annotate(now=Now()).get(pk=section.pk))


def mark(section, step=schedule.notice):
    """Take a step of a refresh; return the pages that are dirty, and build them."""
    step(opened(section))
    found = dirty(section)
    section.pages.update(built=100, wanted=100)
    return found


def look(section):
    return mark(section, schedule.look_back)


def update(number, moment, **fields):
    pk = Product.objects.order_by("pk")[number].pk
    Product.objects.filter(pk=pk).update(updated_at=moment, **fields)


def save(number, moment):
    product = Product.objects.order_by("pk")[number]
    product.updated_at = moment
    product.save()


@pytest.mark.usefixtures("clock")
class TestLastmods:
    """A build looks back at rows whose lastmod is new, where an index helps to."""

    @pytest.mark.database
    def test_a_new_lastmod_is_found_once_and_no_other(self, section):
        """Nor is the row that loses its own."""
        for moment in (START - timedelta(days=1), None):
            update(4, moment)
            assert look(section) == []
        update(4, NOW - MINUTE)
        assert recorded() == []
        assert [look(section), look(section)] == [[2], []]

    @pytest.mark.database
    def test_an_edit_that_was_recorded_marks_its_page_once(self, section):
        """By the signal, and not by its lastmod as well."""
        save(4, NOW - MINUTE)
        before = page_of(section, 2).wanted
        schedule.notice(opened(section))
        assert page_of(section, 2).wanted == before + 1
        assert (dirty(section), recorded()) == ([2], [])

    @pytest.mark.database
    def test_an_update_right_after_a_change_was_taken_is_found(
        self, section, monkeypatch
    ):
        """The page was built in between, so the row that changed must count again."""
        pk = Product.objects.order_by("pk")[4].pk
        update(4, NOW - 3 * MINUTE)

        def take_others(section):
            update(4, NOW - 2 * MINUTE)
            return [pk]

        with monkeypatch.context() as meanwhile:
            meanwhile.setattr(schedule, "take_changes", take_others)
            assert look(section) == []
        assert look(section) == [2]

    def test_an_empty_table_is_no_obstacle(self, publish):
        section = publish(limited(3))
        look(section)
        make_products(1)
        assert look(section) == [1]
        update(0, NOW - MINUTE)
        assert look(section) == [1]
        Product.objects.all().delete()
        look(section)
        make_products(1, updated_at=NOW - 2 * MINUTE)
        assert look(section) == [1]

    @pytest.mark.database
    def test_a_date_of_the_future_is_found_once_it_has_come(self, section, clock):
        update(4, NOW + HOUR)
        assert look(section) == []
        update(7, NOW - MINUTE)
        assert look(section) == [3]
        clock.time += 2 * HOUR
        assert look(section) == [2]

    @pytest.mark.database
    @pytest.mark.parametrize(
        "lastmod", [None, NOW, "created_on", lambda self, obj: obj.updated_at]
    )
    def test_it_looks_at_columns_with_an_index_alone(self, publish, lastmod):
        """A scan of the table each time would cost too much; a check says so."""
        make_products(3, created_on=START)
        section = publish(limited(3, lastmod=lastmod))
        update(1, NOW - MINUTE, created_on=NOW)
        assert look(section) == []

    def test_a_row_that_leaves_the_queryset_is_found(self, shop):
        listed = {"get_queryset": lambda self: Product.objects.filter(published=True)}
        section = shop(6, limit=3, **listed)
        update(4, NOW - MINUTE, published=False)
        assert look(section) == [2]

    def test_a_manager_that_filters_hides_nothing(self, publish, monkeypatch):
        """The look-back reads by the base manager of the model."""

        class Published(models.Manager):
            def get_queryset(self):
                return super().get_queryset().filter(published=True)

        manager = Published()
        manager.contribute_to_class(Product, "listed")
        monkeypatch.setattr(Product._meta, "local_managers", [manager])
        Product._meta._expire_cache()
        try:
            assert isinstance(Product._default_manager, Published)
            Product._base_manager.bulk_create(
                [Product(slug=f"p-{n}", updated_at=START) for n in range(6)]
            )
            section = publish(limited(3))
            rows = Product._base_manager.filter(slug="p-4")
            rows.update(published=False, updated_at=NOW - MINUTE)
            assert look(section) == [2]
        finally:
            monkeypatch.undo()
            Product._meta._expire_cache()
            del Product.listed

    @pytest.mark.database
    def test_a_column_of_days(self, clock, publish):
        """A day is looked at as a whole, and again until the next."""
        days = [Place(slug=f"p-{n}", seen_on=date(2026, 2, 1)) for n in range(6)]
        Place.objects.bulk_create(days)
        attributes = {"lastmod": "seen_on", "limit": 3}
        section = publish(type("P", (PlaceSource,), attributes))
        assert look(section) == []
        rows = Place.objects.filter(slug="p-4")
        rows.update(seen_on=date(2026, 3, 1))
        assert [look(section), look(section)] == [[2], []]
        rows.update(seen_on=date(2026, 3, 2))  # tomorrow
        assert look(section) == []
        clock.time += timedelta(days=1)
        assert look(section) == [2]

    @pytest.mark.database
    def test_without_time_zones(self, publish, settings):
        settings.USE_TZ = False
        naive = timezone.make_naive(NOW)
        make_products(6, updated_at=naive - HOUR)
        section = publish(limited(3))
        update(4, naive - MINUTE)
        assert [look(section), look(section)] == [[2], []]


@pytest.mark.database
@pytest.mark.usefixtures("clock")
class TestTheWindow:
    """Rows may be committed late: the window before the newest lastmod is counted."""

    def test_a_row_that_was_committed_late_is_found(self, section):
        """Up to ten minutes before the newest; which row it is nobody knows."""
        update(4, NOW)
        look(section)
        update(7, NOW - 11 * MINUTE)
        assert look(section) == []
        update(7, NOW - 9 * MINUTE)
        assert [look(section), look(section)] == [[2, 3], []]

    @pytest.mark.parametrize("asked", ["newest", "count", "after"])
    def test_a_row_that_commits_while_it_looks_is_found(
        self, section, monkeypatch, asked
    ):
        """By this look or the next, whatever has been read by then."""
        update(4, NOW - 5 * MINUTE)
        look(section)
        real = getattr(schedule._RowsByLastmod, asked)

        def ask(rows, *moment):
            found = real(rows, *moment)
            monkeypatch.setattr(schedule._RowsByLastmod, asked, real)
            update(7, NOW - MINUTE)
            return found

        monkeypatch.setattr(schedule._RowsByLastmod, asked, ask)
        update(4, NOW)
        assert 3 in {*look(section), *look(section)}

    def test_a_late_row_whose_change_was_recorded_marks_its_page_alone(self, section):
        """It is one more in the window, and is known already."""
        update(4, NOW)
        look(section)
        save(7, NOW - 9 * MINUTE)
        assert [mark(section), look(section)] == [[3], []]

    @pytest.mark.parametrize(("newest", "saved"), [(0, 9), (5, 1)])
    def test_a_late_row_beside_a_recorded_change_is_found(self, section, newest, saved):
        """A change explains one row in the window, or none if its date is new."""
        update(4, NOW - newest * MINUTE)
        look(section)
        save(7, NOW - saved * MINUTE)
        update(10, NOW - 9 * MINUTE)
        assert mark(section) == [2, 3, 4]

    @pytest.mark.parametrize("spread", [0, 1])
    def test_more_rows_than_it_takes_mark_the_section_once(
        self, section, monkeypatch, spread
    ):
        """What comes after them is found by itself."""
        monkeypatch.setattr(schedule, "MAX_KEYS", 5)
        for number in range(12):
            update(number, NOW - MINUTE - number * spread * timedelta(seconds=1))
        assert look(section) == [1, 2, 3, 4]
        assert [look(section), look(section)] == [[], []]
        update(7, NOW - timedelta(seconds=30))
        assert [look(section), look(section)] == [[3], []]

    def test_many_rows_before_the_first_build_mark_nothing(self, publish, monkeypatch):
        """An import of a moment ago is on the pages already."""
        monkeypatch.setattr(schedule, "MAX_KEYS", 5)
        make_products(12, updated_at=NOW - MINUTE)
        section = publish(limited(3))
        assert [look(section), look(section)] == [[], []]


class Current(EventSource):
    """Events that have begun and not ended, three a page, with dates to look at."""

    limit = 3
    lastmod = "updated_at"

    def get_queryset(self):
        now = timezone.now()
        begun = Q(starts_at=None) | Q(starts_at__lte=now)
        return Event.objects.filter(begun, Q(ends_at=None) | Q(ends_at__gt=now))


def make_events(count, **times):
    Event.objects.bulk_create([Event(slug=f"event-{n}", **times) for n in range(count)])
    return list(Event.objects.order_by("pk"))


def set_times(event, **times):
    Event.objects.filter(pk=event.pk).update(**times)


@pytest.mark.usefixtures("clock")
class TestTheClock:
    """Rows enter and leave by their times alone."""

    @pytest.mark.database
    def test_only_the_page_of_the_row_is_marked(self, clock, publish):
        """When its time has come, and a minute later: clocks may differ."""
        events = make_events(6, starts_at=NOW - 5 * HOUR)
        section = publish(Current, "events")
        set_times(events[4], ends_at=NOW + HOUR)
        marked = []
        for seconds in (-60, 1, 20, 40, 61, 120):
            clock.time = NOW + HOUR + timedelta(seconds=seconds)
            marked.append(mark(section, schedule.mark_scheduled))
        assert marked == [[], [2], [], [], [2], []]

    @pytest.mark.parametrize(("most", "pages"), [(2, [1]), (1, [1, 2])])
    def test_more_rows_than_are_located_mark_the_section(
        self, clock, publish, monkeypatch, most, pages
    ):
        """They are not even read: at midnight there may be millions."""
        monkeypatch.setattr(schedule, "MAX_KEYS", most)
        events = make_events(6, starts_at=NOW - 5 * HOUR)
        section = publish(Current, "events")
        for event in events[:2]:
            set_times(event, ends_at=NOW + HOUR)
        clock.time = NOW + 2 * HOUR
        assert mark(section, schedule.mark_scheduled) == pages

    @pytest.mark.database
    @pytest.mark.parametrize("is_followed", [True, False])
    def test_a_clock_ahead_of_the_databases_loses_no_row(
        self, clock, publish, crawl, is_followed
    ):
        """The first look builds the page as it was; one a minute later finds it."""
        ahead = timedelta(seconds=50)

        def by_the_database(self):
            rows = Event.objects.filter(starts_at__lte=clock.time - ahead)
            if is_followed:
                return rows
            return Event.objects.filter(Exists(rows.filter(pk=OuterRef("pk"))))

        set_times(make_events(3, starts_at=NOW - HOUR)[1], starts_at=NOW + HOUR)
        publish(type("Behind", (Current,), {"get_queryset": by_the_database}))
        listed = []
        for moment in (HOUR, HOUR + 1.1 * MINUTE, 2 * HOUR):
            clock.time = NOW + moment
            build()
            listed.append(len(crawl()["/sitemap-products-1.xml"]))
        assert listed == [2, 3, 3]

    def test_a_look_that_fails_is_taken_again(self, clock, publish, monkeypatch):
        """Until when it looked is noted after its pages are marked."""
        set_times(make_events(3)[0], ends_at=NOW + HOUR)
        section = publish(Current, "events")
        clock.time = NOW + 2 * HOUR
        with monkeypatch.context() as patch:
            patch.setattr(schedule, "mark_rows", None)  # as if it was killed there
            with pytest.raises(TypeError):
                mark(section, schedule.mark_scheduled)
        assert mark(section, schedule.mark_scheduled) == [1]

    @pytest.mark.database
    def test_without_time_zones(self, clock, publish, settings):
        settings.USE_TZ = False
        set_times(make_events(3)[1], starts_at=timezone.now() + HOUR)
        section = publish(Current, "events")
        clock.time += 2 * HOUR
        assert mark(section, schedule.mark_scheduled) == [1]


class Untyped(Func):
    """The present time, whose type Django does not know."""

    template = "CURRENT_TIMESTAMP"


class Odd(QuerySet):
    """A queryset of a project that is particular about its order."""

    def order_by(self, *names):
        assert names
        return super().order_by(*names)


QUERIES = {
    "a parameter": lambda now: Q(starts_at__lte=now),
    "before": lambda now: Q(starts_at__lt=now),
    "or": lambda now: Q(starts_at=None) | Q(starts_at__lte=now),
    "not": lambda now: ~Q(starts_at__gt=now),
    "the database's clock": lambda now: Q(
        starts_at__lte=functions.Now() + (now - datetime.now(UTC))
    ),
    "a range": lambda now: Q(starts_at__range=(NOW - YEAR, now)),
    "a part of it": lambda now: Q(starts_at__date__lte=(now + 12 * HOUR).date()),
    "a case": lambda now: Q(Case(When(starts_at__lte=now, then=True), default=False)),
    "the other way round": lambda now: Q(
        lookups.GreaterThan(Value(now, DateTimeField()), F("starts_at"))
    ),
}


@pytest.mark.usefixtures("clock")
class TestMoments:
    """The query of a source says when rows come and go, without a word more."""

    @pytest.fixture
    def publish_events(self, clock: Any, publish: Any) -> Any:
        """Return what publishes six events, three a page, of which one is to come."""

        def publish_events(rows: Any, **attributes: Any) -> Any:
            events = make_events(6, starts_at=NOW - 5 * HOUR)
            set_times(events[4], starts_at=NOW + 24 * HOUR)
            own = {"starts": None, "ends": None, "lastmod": None}
            own["get_queryset"] = lambda self: rows(clock.time)
            return publish(type("Plain", (Current,), {**own, **attributes}), "events")

        return publish_events

    def marks(self, clock: Any, section: Any) -> list[list[int]]:
        found = []
        for hours in (0, 23, 25, 26, 50):
            clock.time = NOW + hours * HOUR
            found.append(mark(section, schedule.mark_scheduled))
        return found

    @pytest.mark.database
    @pytest.mark.parametrize("name", QUERIES)
    def test_the_page_of_a_row_is_marked_once_its_time_has_come(
        self, clock, publish_events, name
    ):
        if name == "a part of it" and connection.vendor == "mysql":
            pytest.skip("this server may have no tables of time zones")
        condition = QUERIES[name]
        section = publish_events(lambda now: Event.objects.filter(condition(now)))
        marked = self.marks(clock, section)
        assert [it for it in marked if it] == [[2]]
        assert marked[0] == marked[4] == []

    @pytest.mark.database
    def test_the_row_is_listed_then(self, clock, publish_events, crawl):
        publish_events(lambda now: Event.objects.filter(starts_at__lte=now))
        listed = []
        for hours in (1, 25):
            clock.time = NOW + hours * HOUR
            build()
            listed.append(len(crawl()["/sitemap-events-2.xml"]))
        assert listed == [2, 3]

    @pytest.mark.database
    @pytest.mark.parametrize(
        ("rows", "name"),
        [
            (Place.objects, "seen_on"),
            (Event.objects, "starts_at__date"),
            (Event.objects.annotate(day=functions.TruncDate("starts_at")), "day"),
        ],
    )
    def test_a_day_begins_at_midnight_where_the_site_is(
        self, clock, publish, settings, rows, name
    ):
        """Thirteen hours before that of UTC, as in the views of the site."""
        if name != "seen_on" and connection.vendor == "mysql":
            pytest.skip("this server may have no tables of time zones")
        settings.TIME_ZONE = "Pacific/Auckland"

        def until_today(self: Any) -> Any:
            return rows.filter(**{f"{name}__lte": timezone.localdate()})

        Place.objects.create(slug="a", seen_on=date(2026, 3, 3))
        Event.objects.create(slug="a", starts_at=NOW + 30 * HOUR)
        given = {"model": rows.model, "get_queryset": until_today}
        section, listed = publish(type("Daily", (PlaceSource,), given)), []
        for hours in (22, 24):
            clock.time = NOW + hours * HOUR
            build()
            listed.append(page_of(section, 1).entries)
        assert listed == [0, 1]

    def test_a_constant_never_moves(self, clock, publish_events):
        later = NOW + 25 * HOUR
        section = publish_events(lambda now: Event.objects.filter(starts_at__lte=later))
        assert self.marks(clock, section) == [[]] * 5

    @pytest.mark.parametrize(
        "rows",
        [
            lambda now: Event.objects.filter(
                Exists(Event.objects.filter(pk=OuterRef("pk"), starts_at__lte=now))
            ),
            lambda now: Event.objects.filter(ends_at__lte=F("starts_at") + (now - NOW)),
            lambda now: Event.objects.filter(pk__in=[1, 2]),
            lambda now: Event.objects.filter(starts_at__in=[now, now + HOUR]),
        ],
    )
    def test_what_cannot_be_followed_marks_nothing(self, clock, publish_events, rows):
        assert self.marks(clock, publish_events(rows)) == [[]] * 5

    def test_a_column_without_an_index_is_looked_at_once_a_minute(
        self, clock, publish_events
    ):
        """However often builds look at others."""

        def rows(now: Any) -> Any:
            is_new = Q(updated_at=None) | Q(updated_at__lte=now)
            return Event.objects.filter(is_new, starts_at__lte=now)

        section = publish_events(rows)
        field = Event._meta.get_field("starts_at")
        assert not field.db_index
        seen = []
        for seconds in range(0, 200, 20):
            clock.time = NOW + 24 * HOUR + timedelta(seconds=seconds - 10)
            seen.append(mark(section, schedule.mark_scheduled))
        assert [it for it in seen if it] == [[2]]

    @pytest.mark.database
    @pytest.mark.parametrize(
        "rows",
        [
            lambda now: Event.objects.filter(starts_at__startswith=f"{now:%Y-%m-%d}"),
            lambda now: Event.objects.filter(starts_at__lte=Untyped()),
            lambda now: Event.objects.annotate(age=Value(now) - F("starts_at")),
            lambda now: Odd(Event).filter(starts_at__lte=now),
        ],
    )
    def test_no_query_of_others_fails_a_build(self, clock, publish_events, rows):
        publish_events(rows)
        for days in range(3):
            clock.time = NOW + days * 24 * HOUR
            assert build().sections[0].errors == []

    def test_another_condition_before_it_loses_no_time(self, clock, publish_events):
        section = publish_events(lambda now: Event.objects.filter(starts_at__lte=now))
        mark(section, schedule.mark_scheduled)
        [source] = [registry.get("events")]
        type(source).get_queryset = lambda self: Event.objects.filter(
            starts_at__gte=NOW - YEAR, starts_at__lte=clock.time
        )
        clock.time = NOW + 25 * HOUR
        assert mark(section, schedule.mark_scheduled) == [2]

    def test_a_query_that_cannot_be_walked_is_logged(
        self, clock, publish_events, monkeypatch, messages
    ):
        section = publish_events(lambda now: Event.objects.filter(starts_at__lte=now))
        kept = Section.objects.get(pk=section.pk).moments
        monkeypatch.setattr(schedule, "moments", None)
        assert mark(section, schedule.mark_scheduled) == []
        [words] = messages("times_unfollowed")
        assert "events" in words
        assert Section.objects.get(pk=section.pk).moments == kept

    def test_a_contrib_list_is_not_read(self, clock, publish):
        make_events(6)
        read = []

        class Events(Sitemap):
            def items(self):
                read.append(1)
                return list(Event.objects.all())

            def location(self, item):
                return f"/{item.slug}/"

        section = publish(Events, "events")
        read.clear()
        schedule.mark_scheduled(opened(section))
        assert read == []

    def test_a_contrib_class(self, clock, publish):
        events = make_events(6, starts_at=NOW - 5 * HOUR)
        set_times(events[4], starts_at=NOW + 24 * HOUR)

        class Events(Sitemap):
            limit = 3

            def items(self):
                rows = Event.objects.filter(starts_at__lte=clock.time)
                return rows.order_by("pk")

            def location(self, item):
                return f"/{item.slug}/"

        section = publish(Events, "events")
        assert [it for it in self.marks(clock, section) if it] == [[2]]


class Views(ViewSource):
    views = ["home", "about", "contact"]


class Names(Sitemap):
    """A contrib class that lists no rows."""

    def items(self):
        return ["a", "b"]

    def location(self, item):
        return f"/{item}/"


class TestMaxAge:
    @pytest.mark.database
    @pytest.mark.parametrize(
        ("source", "seconds", "count"),
        [
            (Views, 3_590, 0),
            (Views, 3_600, 1),
            (Names, 3_590, 0),
            (Names, 3_600, 1),
            (type("Quick", (Views,), {"max_age": 60}), 61, 1),
            (type("Never", (Views,), {"max_age": None}), 7_000, 0),
            (ProductSource, 7_000, 0),  # whose changes are noticed otherwise
            (limited(10, max_age=600), 601, 1),
        ],
    )
    def test_pages_of_which_no_change_is_recorded_are_rendered_once_old(
        self, publish, source, seconds, count
    ):
        """A source may choose its age; a page that is the same is not flipped."""
        make_products(2)
        section = publish(source)
        before = page_of(section, 1)
        make_older(section, seconds)
        assert [rendered(), rendered()] == [count, 0]
        after = page_of(section, 1)
        same = (before.object, before.published_at)
        assert (after.object, after.published_at) == same

    def test_a_page_of_news_has_a_thousand_articles_at_most(self, publish):
        """Other pages may grow by a tenth."""
        make_products(1_000)

        def news(self, product):
            words = {"name": "The Paper", "language": "en", "title": product.name}
            return News(publication_date=product.updated_at, **words)

        section = publish(type("Articles", (ProductSource,), {"news": news}))
        make_products(1, first=1_000)
        rendered(full=True)
        entries = section.pages.active().values_list("entries", flat=True)
        assert sorted(entries) == [1, 1_000]


class TestFirstGrace:
    """Processes without the plan, and open transactions, record nothing at first."""

    @pytest.mark.database
    def test_pages_are_rendered_once_more_after_it(self, section, client):
        update(4, None, slug="unrecorded")
        assert [rendered(), rendered()] == [0, 0]
        pass_grace()
        report = build().sections[0]
        assert (report.rendered, report.stored) == (4, 1)
        assert b"unrecorded" in client.get("/sitemap-products-2.xml").content
        pass_grace()
        assert rendered() == 0

    def test_pages_that_were_built_after_it_are_left_alone(self, section):
        """A first build of hours is not done twice."""
        pass_grace()
        section.pages.filter(number__gt=1).update(checked_at=Now())
        assert rendered() == 1

    def test_pages_that_are_the_same_are_not_announced(self, section):
        """They keep their objects, and nothing is published."""
        pages = section.pages.order_by("number").values_list("object", "published_at")
        before = list(pages)
        pass_grace()
        with hearing(urls_changed):  # else flips leave no publications
            assert rendered() == 4
        assert list(pages.all()) == before
        assert not Publication.objects.exists()

    def test_a_section_that_was_pruned_has_one_too(self, section):
        """While it was, no change of it was recorded either."""
        pass_grace()
        build()
        section.pages.all().delete()
        Section.objects.filter(pk=section.pk).update(missing_since=Now())
        build()
        pass_grace()
        assert [rendered(), rendered()] == [4, 0]

    def test_a_section_that_comes_back_has_one_too(self, section, sections):
        """A release without it was in force for an hour."""
        pass_grace()
        build()
        source = sections.get("products")
        sections.unregister("products")
        build()
        sections.register("products", source)
        assert rendered() == 0
        pass_grace()
        assert [rendered(), rendered()] == [4, 0]


class TestAudit:
    @pytest.mark.parametrize(
        ("name", "value", "count"),
        [
            ("AUDIT_INTERVAL_SECONDS", 86_400, 0),
            ("AUDIT_INTERVAL_SECONDS", 70_000, 4),
            ("AUDIT_BUDGET_SECONDS", 0, 0),
        ],
    )
    def test_the_settings_say_what_it_compares(
        self, section, configure, name, value, count
    ):
        """Pages that are old enough; none without a budget."""
        configure(**{name: value})
        make_older(section, 80_000 if value else 90_000)
        assert rendered() == count

    @pytest.mark.database
    def test_it_stays_within_its_budget(self, section, configure, monkeypatch):
        """The pages longest unchecked come first; the rest waits for the next."""
        monkeypatch.setattr(settle, "AUDIT_PAGES", 1)
        make_older(section, 90_000)
        section.pages.filter(number=3).update(checked_at=Now() - timedelta(days=9))
        ticks = iter(range(1_000))
        monkeypatch.setattr(building.time, "monotonic", lambda: next(ticks) * 4.0)
        configure(AUDIT_BUDGET_SECONDS=10)
        assert 1 <= rendered() < 4
        old = Page.objects.filter(checked_at__lt=Now() - timedelta(days=1))
        assert 3 not in old.values_list("number", flat=True)


class Deployed(Current):
    """The same events, of which something else is said."""

    changefreq = "daily"


def rows_of(number: int) -> Any:
    return Event.objects.filter(slug=f"event-{3 * number - 1}")


def rename(number: int, **fields: Any) -> None:
    """Change a page by a statement that tells nobody."""
    assert rows_of(number).update(slug=f"renamed-{number}", **fields) == 1


def save_event(number: int) -> None:
    """Change it by a save, which leaves its lastmod."""
    event = rows_of(number).get()
    event.slug = f"saved-{number}"
    event.save()


def say(number: int) -> None:
    event = rows_of(number).get()
    rename(number)
    notify_changed(Event.objects.filter(pk=event.pk))


def age(number: int) -> None:
    """Change a page that was not compared for AUDIT_INTERVAL_SECONDS."""
    rename(number)
    pages = Section.objects.get(name="events").pages.filter(number=number)
    pages.update(checked_at=F("checked_at") - timedelta(days=2))


#: The page whose last event is still to begin, and a page that is changed and young,
#: which nobody can know.
LAST, UNTOLD = 8, 7

#: How a page is changed, and the page that it is done to.
WAYS: dict[str, Any] = {
    "a save": (save_event, 1),
    "a word": (say, 2),
    "a lastmod": (lambda number: rename(number, updated_at=NOW + HOUR), 3),
    "an end": (lambda number: rows_of(number).update(ends_at=NOW + HOUR), 4),
    "the audit": (age, 5),
    "a start": (lambda number: rows_of(number).update(starts_at=NOW + HOUR), LAST),
}


class TestEveryWay:
    """The ways in which a section learns of an edit: each finds its own."""

    @pytest.fixture
    def events(self, clock: Any, publish: Any) -> Section:
        """Publish eight young pages; page n has the events 3n - 3 to 3n - 1."""
        usual = {"ends_at": NOW + YEAR, "updated_at": NOW - YEAR}
        made = make_events(3 * LAST, starts_at=NOW - YEAR, **usual)
        set_times(made[-1], starts_at=NOW + YEAR)
        section: Section = publish(Current, "events")
        assert section.pages.count() == LAST
        return section

    @pytest.mark.parametrize(
        "chosen", [[way] for way in WAYS] + [list(WAYS)], ids=[*WAYS, "all together"]
    )
    def test_a_refresh_renders_the_pages_of_its_news(
        self, clock, events, client, chosen
    ):
        """Each once, by whatever way; what left no trace waits for the audit."""
        before = dict(events.pages.values_list("number", "wanted"))
        rename(UNTOLD)
        for way in chosen:
            change, number = WAYS[way]
            change(number)
        clock.time = NOW + 2 * HOUR
        [report] = build_and_relay().sections
        after = dict(events.pages.values_list("number", "wanted"))
        rises = {number: after[number] - before[number] for number in before}
        assert rises == dict.fromkeys(before, 0) | {WAYS[way][1]: 1 for way in chosen}
        assert (report.rendered, report.stored) == (len(chosen), len(chosen))
        assert (dirty(events), recorded()) == ([], [])
        assert b"renamed" not in client.get(f"/sitemap-events-{UNTOLD}.xml").content

    @pytest.mark.database
    def test_a_deploy_and_all_other_news_in_one_refresh(self, clock, events, client):
        """All pages are rendered once, what is told of is announced."""
        for change, number in WAYS.values():
            change(number)
        rename(UNTOLD)
        become(Deployed, "events")
        clock.time = NOW + 2 * HOUR
        with hearing(urls_changed) as heard:
            [report] = build_and_relay().sections
        assert (report.rendered, report.stored) == (LAST, LAST)
        announced = [told for told in heard if told["announce"]]
        kinds = ("added", "updated", "removed")
        urls = {url for told in announced for kind in kinds for url in told[kind]}
        # Each edited row by its old and its new slug, and no other row of its page.
        slugs = ["saved-1", "event-2", "renamed-2", "event-5", "renamed-3", "event-8"]
        slugs += ["event-11", "event-23"]  # has ended, has begun
        assert urls == {f"https://example.com/products/{slug}/" for slug in slugs}
        assert (dirty(events), recorded()) == ([], [])
        assert b"saved-1" in client.get("/sitemap-events-1.xml").content
        assert b"renamed" in client.get(f"/sitemap-events-{UNTOLD}.xml").content
        assert build_and_relay().sections[0].rendered == 0
