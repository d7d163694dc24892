"""A section whose source fails keeps engines from hearing of no other."""

from __future__ import annotations

import pytest

from django_sitemaps_plus.models import Change, Publication
from django_sitemaps_plus.notifications.dispatch import notify_engines
from tests.support.shop import ProductSource, make_products, product_urls
from tests.support.testapp.models import Author

pytestmark = pytest.mark.django_db(transaction=True)


class BrokenSource(ProductSource):
    """One whose queryset raises, as long as it is broken."""

    model = Author
    lastmod = None
    is_broken = True

    def get_queryset(self):
        """Raise."""
        if self.is_broken:
            raise ValueError("no rows today")
        return super().get_queryset()

    def location(self, author: Author) -> str:
        """Return the page of an author."""
        return f"/authors/{author.pk}/"


@pytest.fixture
def products(sections, recording):
    """Have two sections without pages; the first of them is broken."""
    made = make_products(3)
    sections.register("authors", BrokenSource)
    sections.register("products", ProductSource)
    return made


def test_saves_of_the_others_are_told(products, recording, monkeypatch, caplog):
    """And those of the broken one as soon as it is mended."""
    author = Author.objects.create(name="one")
    products[1].save()
    assert Change.objects.count() == 2
    notify_engines()
    assert recording.told() == product_urls([1])
    assert "no rows today" in caplog.text
    monkeypatch.setattr(BrokenSource, "is_broken", False)
    notify_engines()
    assert f"https://example.com/authors/{author.pk}/" in recording.told()
    assert not Change.objects.exists()
    assert not Publication.objects.exists()


def test_a_source_that_breaks_when_it_is_told(products, recording, monkeypatch, caplog):
    """What was noted waits, and the others are told."""
    monkeypatch.setattr(BrokenSource, "is_broken", False)
    monkeypatch.setattr(BrokenSource, "location", lambda self, author: 1 / 0)
    monkeypatch.setattr(BrokenSource, "on_error", "raise", raising=False)
    Author.objects.create(name="one")
    products[1].save()
    notify_engines()
    assert recording.told() == product_urls([1])
    assert "wait for the next run" in caplog.text
    assert Publication.objects.count() == 1
