"""New plans: asked for, forced by a collation, or by a key of another type."""

from __future__ import annotations

from itertools import chain

import pytest

from django_sitemaps_plus import ModelSource, Route
from django_sitemaps_plus.building.planning import is_broken
from django_sitemaps_plus.building.refresh import Options, refresh
from django_sitemaps_plus.models import Section
from django_sitemaps_plus.registry import registry
from tests.integration.shop import limited
from tests.testapp.models import Label, Product, Shop

from .plans import dirty, numbers, objects, plan_of, sizes, spread

pytestmark = pytest.mark.django_db

REPLAN = Options(replan=True)


class LabelSource(ModelSource):
    """String keys."""

    model = Label
    location = Route("label-detail", code="code")
    limit = 5


def everything(pages):
    """Return the locations of all pages, sorted."""
    return sorted(chain.from_iterable(pages.values()))


def replace(source):
    """Register another source under the name, as a deploy does."""
    registry.unregister("products")
    registry.register("products", source)


class TestAskedFor:
    def test_a_changed_limit_is_followed_at_once(self, publish, crawl):
        """New pages get new numbers; the old ones are served until pruned."""
        spread(30)
        section = publish(limited(10))
        before = crawl()
        replace(limited(6))
        refresh((), REPLAN)
        assert sizes(section) == [6, 6, 6, 6, 6]
        assert numbers(section) == [4, 5, 6, 7, 8]
        after = crawl()
        assert everything(after) == everything(before)
        assert section.pages.filter(state="retired").count() == 3

    def test_a_changed_limit_is_followed_as_pages_are_rendered(self, publish):
        """Without --replan only a page that changed is cut anew."""
        spread(30)
        section = publish(limited(10))
        replace(limited(6))
        refresh()
        assert sizes(section) == [10, 10, 10]
        Product.objects.get(pk=150).save()
        refresh()
        assert sizes(section) == [10, 5, 5, 10]

    def test_a_greater_limit_is_followed_as_well(self, publish):
        """Pages are filled up by a new plan."""
        spread(30)
        section = publish(limited(5))
        replace(limited(15))
        refresh((), REPLAN)
        assert sizes(section) == [15, 15]

    def test_ranges_that_stay_the_same_keep_their_pages(self, publish):
        """Their numbers, objects and lastmods too."""
        spread(30)
        section = publish(limited(10))
        before = objects(section)
        refresh((), REPLAN)
        assert objects(section) == before
        assert not section.pages.filter(state="retired").exists()

    def test_rows_that_came_in_are_spread_anew(self, publish):
        """Nothing is lost on the way."""
        spread(30)
        section = publish(limited(10))
        Product.objects.filter(pk__in=[10, 20, 30]).delete()
        refresh((), REPLAN)
        assert sizes(section) == [10, 10, 7]
        assert dirty(section) == []

    def test_the_old_plan_serves_until_the_new_one_is_complete(
        self, publish, client, monkeypatch
    ):
        """A page of it that cannot be built holds the change back."""
        from django_sitemaps_plus.building import loop
        from django_sitemaps_plus.exceptions import SourceError

        spread(30)
        section = publish(limited(10))
        build = loop.build_page

        def fail(page, site):
            if page.number == 6:
                raise SourceError("not today")
            return build(page, site)

        replace(limited(6))
        monkeypatch.setattr(loop, "build_page", fail)
        refresh((), REPLAN)
        assert numbers(section) == [1, 2, 3]
        assert client.get("/sitemap-products-2.xml").status_code == 200
        monkeypatch.setattr(loop, "build_page", build)
        refresh()
        assert sizes(section) == [6, 6, 6, 6, 6]


class TestBroken:
    @pytest.fixture
    def section(self, publish):
        """Labels on four pages."""
        Label.objects.bulk_create([Label(code=f"code-{n:02}") for n in range(20)])
        return publish(LabelSource)

    def swap(self, section):
        """Leave bounds as a collation would that sorts the other way round."""
        pages = plan_of(section)
        bounds = [page.low for page in pages[1:]][::-1]
        section.pages.update(low=None)
        for page, low, high in zip(
            pages, [None, *bounds], [*bounds, None], strict=True
        ):
            section.pages.filter(pk=page.pk).update(low=low, high=high)

    def test_bounds_that_ascend_are_not_broken(self, section):
        """The plan stays."""
        assert not is_broken(section)
        refresh()
        assert numbers(section) == [1, 2, 3, 4]

    def test_bounds_that_do_not_ascend_get_a_new_plan(self, section, caplog, crawl):
        """The refresh says so, and every row is listed once again."""
        self.swap(section)
        assert is_broken(section)
        refresh((), Options(allow_shrink=True))
        assert "is broken, so it gets a new one" in caplog.text
        assert everything(crawl()) == [
            f"https://example.com/labels/code-{n:02}/" for n in range(20)
        ]
        assert not is_broken(Section.objects.get(pk=section.pk))

    def test_the_next_refresh_leaves_the_new_plan_alone(self, section):
        """It is mended once."""
        self.swap(section)
        refresh((), Options(allow_shrink=True))
        before = numbers(section)
        refresh()
        assert numbers(section) == before


def of_shops(limit):
    attributes = {"model": Shop, "location": Route("shop-detail", pk="pk")}
    return type("Shops", (ModelSource,), {"limit": limit, **attributes})


class TestAnotherKey:
    @pytest.mark.parametrize("is_saved", [False, True], ids=["quiet", "saved"])
    @pytest.mark.parametrize(
        ("before", "after"), [("slug", "pk"), ("pk", "slug")], ids=["to pk", "to slug"]
    )
    def test_a_key_of_another_type_gets_a_new_plan(
        self, publish, crawl, before, after, is_saved
    ):
        """Also when rows were saved between the deploy and the refresh."""
        spread(30)
        section = publish(limited(10, key=before))
        urls = everything(crawl())
        replace(limited(10, key=after))
        if is_saved:
            Product.objects.get(pk=150).save()
        refresh((), Options(allow_shrink=True))
        assert everything(crawl()) == urls
        lows = [page.low for page in plan_of(section)[1:]]
        model_field = Product._meta.get_field("id" if after == "pk" else after)
        assert [model_field.to_python(low) for low in lows] == sorted(
            model_field.to_python(low) for low in lows
        )
        assert dirty(section) == []

    def test_another_model_gets_a_new_plan(self, publish, crawl):
        """Its keys are UUIDs where the bounds are numbers."""
        spread(30)
        publish(limited(10))
        Shop.objects.bulk_create([Shop() for _ in range(30)])
        replace(of_shops(10))
        Shop.objects.first().save()
        refresh((), Options(allow_shrink=True))
        listed = everything(crawl())
        assert len(listed) == 30
        assert all("/shops/" in loc for loc in listed)
