"""What we tell others: pages built, builds finished, URLs changed."""

import time
from contextlib import contextmanager

import pytest

from django_sitemaps_plus.building import build as building
from django_sitemaps_plus.building.build import build
from django_sitemaps_plus.exceptions import StoreError
from django_sitemaps_plus.models import Publication
from django_sitemaps_plus.notifications import url_changes
from django_sitemaps_plus.signals import build_finished, page_built, urls_changed
from tests.support.builds import build_and_relay
from tests.support.shop import START, limited
from tests.support.testapp.models import Product
from tests.support.told import hearing

from .plans import add, numbers, replace


@contextmanager
def failing(signal):
    def fail(**kwargs):
        raise RuntimeError("a receiver failed")

    signal.connect(fail)
    try:
        yield
    finally:
        signal.disconnect(fail)


def url(*keys):
    return [f"https://example.com/products/p-{key}/" for key in keys]


def total(heard):
    found = {"added": [], "updated": [], "removed": []}
    for told in heard:
        for kind, urls in found.items():
            urls.extend(told[kind])
    return {kind: sorted(urls) for kind, urls in found.items() if urls}


@pytest.fixture
def section(spaced):
    return spaced(30)


def add_publications(section, *names):
    """Have pages been published whose objects were those, one each."""
    for name in names:
        Publication.objects.create(section=section, old=[name], new=[])


def rename(key, slug):
    product = Product.objects.get(pk=key)
    product.slug = slug
    product.save()


class TestUrlsChanged:
    def test_an_edit_an_insert_and_a_delete(self, section):
        """Each is told once, by what became of it."""
        with hearing(urls_changed) as heard:
            rename(150, "p-renamed")
            Product.objects.get(pk=250).delete()
            add(55)
            build_and_relay()
        assert total(heard) == {
            "added": sorted([*url(55), *url("renamed")]),
            "removed": sorted([*url(150), *url(250)]),
        }
        assert {(told["section"], told["announce"]) for told in heard} == {
            ("products", True)
        }

    def test_another_lastmod_is_an_update(self, section):
        """The URL stays; a save that shows nowhere is no news."""
        with hearing(urls_changed) as heard:
            Product.objects.get(pk=150).save()
            build_and_relay()
            assert heard == []
            product = Product.objects.get(pk=150)
            product.updated_at = START
            product.save()
            build_and_relay()
        assert total(heard) == {"updated": url(150)}

    def test_a_split_tells_only_what_is_new(self, section):
        """Entries that moved to another page have not changed."""
        with hearing(urls_changed) as heard:
            add(111, 112)
            build_and_relay()
        assert numbers(section) == [1, 2, 4, 3]
        assert total(heard) == {"added": url(111, 112)}

    def test_a_row_that_comes_in_with_a_new_plan_is_not_announced(self, section):
        """A publication is announced as a whole or not at all; a plan tells nothing."""
        replace(limited(9))
        with hearing(urls_changed) as heard:
            build_and_relay(replan=True)
        assert heard == []
        assert Publication.objects.count() == 0
        replace(limited(7))
        Product.objects.bulk_create([Product(pk=15, name="p", slug="p-15")])
        with hearing(urls_changed) as heard:
            build_and_relay(replan=True)
        assert total(heard) == {"added": url(15)}
        assert [told["announce"] for told in heard] == [False]

    def test_a_new_plan_is_not_announced_for_a_change_on_one_of_its_pages(
        self, section, monkeypatch
    ):
        """That change is told by the build that follows, not all that moved."""
        replace(limited(7))
        with hearing(urls_changed):
            with monkeypatch.context() as patch:
                patch.setattr(building, "settle", lambda build, section: False)
                build(replan=True)
            section.pages.filter(state="next").update(announce=True)
            build()
        assert [found.announce for found in Publication.objects.all()] == [False]

    def test_a_change_that_only_the_new_plan_shows_is_announced(self, section, failing):
        """The page of the old plan cannot be built: it is announced now or never."""
        replace(limited(7))
        failing(2)
        with hearing(urls_changed) as heard:
            rename(150, "p-renamed")
            build_and_relay(replan=True)
        assert numbers(section)[0] == 4
        assert total(heard) == {"added": url("renamed"), "removed": url(150)}
        assert [told["announce"] for told in heard] == [True]

    def test_many_urls_come_in_several_calls(self, section, monkeypatch):
        """Each holds at most BATCH_URLS of them."""
        monkeypatch.setattr(url_changes, "BATCH_URLS", 4)
        with hearing(urls_changed) as heard:
            for key in range(210, 310, 10):
                rename(key, f"q-{key}")
            build_and_relay()
        kinds = ("added", "updated", "removed")
        sizes = [sum(len(told[kind]) for kind in kinds) for told in heard]
        assert (max(sizes), sum(sizes)) == (4, 20)

    def test_a_publication_whose_objects_are_lost_is_let_go(self, section, caplog):
        """Its URLs are lost too, and who tells it says so, once."""
        with hearing(urls_changed) as heard:
            add_publications(section, "no/such.gz")
            [words] = url_changes.relay()
            assert url_changes.relay() == []
        assert "are lost" in words
        assert heard == []
        assert Publication.objects.count() == 0
        assert "are lost" in caplog.text

    def test_a_teller_that_dies_leaves_it_to_the_next(self, section, monkeypatch):
        def die(*args, **kwargs):
            raise SystemExit

        with hearing(urls_changed) as heard:
            with monkeypatch.context() as patch:
                patch.setattr(url_changes, "_send", die)
                add(55)
                with pytest.raises(SystemExit):
                    build_and_relay()
            Publication.objects.update(claimed_at=None)
            build_and_relay()
        assert total(heard) == {"added": url(55)}

    def test_a_storage_that_is_away_is_asked_once(self, section, monkeypatch, caplog):
        """What could not be told comes after the others in the next call."""
        asked = []

        def away(name):
            asked.append(name)
            raise StoreError("no answer")

        add_publications(section, "a.gz", "b.gz", "c.gz")
        monkeypatch.setattr(url_changes, "read_document", away)
        with hearing(urls_changed):
            url_changes.relay()
            assert asked == ["a.gz"]
            assert "wait for the next run: no answer" in caplog.text
            for _ in range(3):
                url_changes.relay()
        assert asked == ["a.gz", "b.gz", "c.gz", "a.gz"]
        assert Publication.objects.count() == 3

    def test_none_is_begun_when_the_time_is_over(self, section):
        """A task ends in time; the next one goes on."""
        add_publications(section, "no/such.gz")
        with hearing(urls_changed):
            url_changes.relay(until=time.monotonic())
            build(seconds=0)
            assert Publication.objects.get().claimed_at is None
            url_changes.relay()
        assert not Publication.objects.exists()


class TestPageBuilt:
    def test_each_published_page_is_told(self, spaced):
        """With its number, its entries and its address."""
        with hearing(page_built) as heard:
            spaced(25)
        assert sorted(heard, key=lambda told: told["number"]) == [
            {
                "section": "products",
                "number": number,
                "entries": entries,
                "url": f"https://example.com/sitemap-products-{number}.xml",
            }
            for number, entries in [(1, 10), (2, 10), (3, 5)]
        ]

    def test_the_pieces_of_a_split_are_told_by_their_own_numbers(self, section):
        """A page that is only compared is not told."""
        with hearing(page_built) as heard:
            build_and_relay(full=True)
            assert heard == []
            add(111, 112)
            build_and_relay()
        assert sorted((told["number"], told["entries"]) for told in heard) == [
            (2, 6),
            (4, 6),
        ]

    def test_a_page_that_takes_in_another_is_told(self, section):
        Product.objects.filter(pk__gt=120, pk__lte=200).delete()
        Product.objects.filter(pk__gt=220).delete()
        with hearing(page_built) as heard:
            build_and_relay(allow_shrink=True)
        assert numbers(section) == [1, 2]
        found = [(told["number"], told["entries"]) for told in heard]
        assert (sorted(found[:2]), found[2:]) == ([(2, 2), (3, 2)], [(2, 4)])

    def test_pages_of_a_new_plan_are_told_once_it_serves(self, section, client):
        """Whoever fetches what was told gets it."""
        replace(limited(6))
        answers = {}

        def fetch(number, url, **told):
            answers[number] = client.get(url).status_code

        page_built.connect(fetch)
        build_and_relay(replan=True)
        page_built.disconnect(fetch)
        assert answers == dict.fromkeys([4, 5, 6, 7, 8], 200)


def test_receivers_that_fail_hurt_nobody(section, caplog):
    """The others hear, the page is published, the build ends; the failure is logged."""
    with (
        failing(page_built),
        failing(urls_changed),
        failing(build_finished),
        hearing(page_built) as pages,
        hearing(urls_changed) as changes,
        hearing(build_finished) as builds,
    ):
        add(55)
        report = build_and_relay()
    assert (len(pages), report.sections[0].stored) == (1, 1)
    assert total(changes) == {"added": url(55)}
    assert builds == [{"report": report}]
    assert "a receiver failed" in caplog.text
    assert Publication.objects.count() == 0
