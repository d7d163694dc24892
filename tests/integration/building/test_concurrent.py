"""Two builds at once: one publishes, the other says so, and nothing is mixed."""

from __future__ import annotations

import threading
from typing import Any

import pytest
from django.core.management import CommandError, call_command
from django.db import connection

from django_sitemaps_plus.building import build as module
from django_sitemaps_plus.exceptions import SupersededError
from django_sitemaps_plus.models import Page
from tests.integration.builds import build
from tests.integration.published import page_row, rows, seen
from tests.integration.shop import limited, make_products
from tests.testapp.models import Product

PATHS = ("/sitemap.xml", *[f"/sitemap-products-{number}.xml" for number in (1, 2, 3)])

#: Seconds after which a thread that waits has hung.
HANG = 30


def rename(suffix: str) -> None:
    """Change a row of each of three pages."""
    for number, product in enumerate(Product.objects.order_by("pk")):
        if number % 10 == 0:
            slug = f"product-{number:05}-{suffix}"
            Product.objects.filter(pk=product.pk).update(slug=slug)


@pytest.mark.django_db
class TestSuperseded:
    """A slow build that another one overtakes."""

    @pytest.fixture(autouse=True)
    def products(self, sections):
        """Publish three pages, then change them."""
        make_products(25)
        sections.register("products", limited(10))
        build()
        rename("a")

    def overtake(self, done_pages: int) -> Any:
        """Return a progress that builds the rest of the world meanwhile."""

        def progress(section: str, done: int, total: int) -> None:
            if done == done_pages:
                rename("b")
                build()

        return progress

    @pytest.mark.parametrize("done_pages", [1, 2, 3])
    def test_the_slow_one_publishes_nothing(self, client, done_pages):
        """The version of the section has moved, so its flip fails."""
        with pytest.raises(SupersededError, match="products"):
            build(progress=self.overtake(done_pages))
        found = seen(client, *PATHS)
        assert [content.count(b"-b/") for _, content, *_ in found.values()] == [
            0,
            1,
            1,
            1,
        ]
        assert not any(b"-a/" in content for _, content, *_ in found.values())
        before = rows()
        build()
        assert rows() == before

    def test_the_command_says_so(self, monkeypatch):
        """It was asked to publish and did not."""
        monkeypatch.setattr(
            "django_sitemaps_plus.management.commands.build_sitemaps.build",
            lambda *args, **options: build(
                *args, **{**options, "progress": self.overtake(2)}
            ),
        )
        with pytest.raises(CommandError, match="another build has published meanwhile"):
            call_command("build_sitemaps", verbosity=0)

    def test_a_dry_run_overtakes_nobody(self):
        """It publishes nothing, so the other goes on."""
        build(progress=lambda *_: build(dry_run=True))
        assert page_row("products", 3).entries == 5


@pytest.mark.django_db(transaction=True)
class TestThreads:
    """Builds that reach their flips at the same moment."""

    def test_exactly_one_of_two_publishes(self, sections, client, monkeypatch):
        """All pages of a section are those of the winner."""
        make_products(25)
        sections.register("products", limited(10))
        build()
        rename("a")
        barrier = threading.Barrier(2, timeout=HANG)
        offered: dict[int, set[str]] = {}
        real = module.flip

        def flip(section: Any, built: Any) -> int:
            offered[threading.get_ident()] = {page.object for page in built}
            barrier.wait()
            return real(section, built)

        monkeypatch.setattr(module, "flip", flip)
        outcomes = run_in_threads(2)
        published = set(
            Page.objects.filter(section__name="products").values_list(
                "object", flat=True
            )
        )
        assert sorted(outcomes) == ["SupersededError", "published"]
        assert published in offered.values()
        found = seen(client, *PATHS[1:])
        assert [content.count(b"-a/") for _, content, *_ in found.values()] == [1] * 3


def run_in_threads(count: int) -> list[str]:
    outcomes: list[str] = []

    def work() -> None:
        try:
            build()
            outcomes.append("published")
        except Exception as error:  # noqa: BLE001 - whatever it is, it is the outcome
            outcomes.append(type(error).__name__)
        finally:
            connection.close()

    threads = [threading.Thread(target=work) for _ in range(count)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(HANG)
        assert not thread.is_alive()
    return outcomes
