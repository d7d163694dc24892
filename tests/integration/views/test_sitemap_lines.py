"""The template tag for a robots.txt of the project's own; it never raises."""

from __future__ import annotations

from typing import Any

import pytest
from django.db import connection
from django.template import Context, Template
from django.test import RequestFactory

from django_sitemaps_plus.models import Page
from django_sitemaps_plus.serving import robots_txt as building
from tests.support.settings import SITEMAPS_PLUS

from .robots_txt import FIRST, SECOND

pytestmark = pytest.mark.django_db

TAG = "{% load sitemaps_plus %}User-agent: *\n{% sitemap_lines %}\n"


class TestTag:
    def test_it_gives_a_line_for_every_index(self, indexes):
        """For a robots.txt of the project's own."""
        text = Template(TAG).render(Context())
        assert text.splitlines() == [
            "User-agent: *",
            f"Sitemap: {FIRST}",
            f"Sitemap: {SECOND}",
        ]

    def test_a_transaction_of_the_caller_s_goes_on(self, indexes, monkeypatch):
        """After a query that fails PostgreSQL takes no other, but for a savepoint."""

        def fail(site: Any) -> Any:
            with connection.cursor() as cursor:
                cursor.execute("SELECT number FROM a_table_that_is_not_there")

        monkeypatch.setattr(building, "index_urls", fail)
        assert f"Sitemap: {FIRST}" in Template(TAG).render(Context())
        assert Page.objects.count() == 3

    def test_it_is_empty_without_an_origin(self, settings):
        """It never raises, whatever the request says."""
        settings.SITEMAPS_PLUS = {}
        request = RequestFactory().get("/", headers={"Host": "evil.example"})
        text = Template(TAG).render(Context({"request": request}))
        assert text == "User-agent: *\n\n"

    def test_it_is_empty_without_our_urls(self, settings):
        """Nothing leads to a sitemap then."""
        settings.ROOT_URLCONF = "django.contrib.auth.urls"
        assert Template(TAG).render(Context()) == "User-agent: *\n\n"

    def test_an_ampersand_stays(self, settings):
        """A text file knows no entities."""
        url = "https://shop.example/sitemap.xml?a=1&b='2'"
        settings.SITEMAPS_PLUS = {**SITEMAPS_PLUS, "ROBOTS": {"SITEMAPS": [url]}}
        assert f"Sitemap: {url}" in Template(TAG).render(Context())
