"""The files by which engines verify a site, and no others."""

from __future__ import annotations

from typing import Any

import pytest
from django.http import HttpResponse
from django.urls import NoReverseMatch, include, path, reverse

from django_sitemaps_plus.views import files
from tests.support.key_files import ENGINES, KEY, PATH
from tests.support.settings import SITEMAPS_PLUS


class Own:
    """A URLconf with text files of the project's own behind ours."""

    urlpatterns = [
        path("", include("django_sitemaps_plus.urls")),
        path("<slug:name>.txt", lambda request, name: HttpResponse("mine")),
    ]


@pytest.fixture(autouse=True)
def engines(settings: Any) -> None:
    settings.SITEMAPS_PLUS = {**SITEMAPS_PLUS, "ENGINES": ENGINES}


def test_the_file_is_the_key_alone(client, django_assert_num_queries):
    """Plain text, without a line end or a query; caches may keep it for all."""
    with django_assert_num_queries(0):
        response = client.get(PATH)
        head = client.head(PATH)
    assert (response.status_code, response.content) == (200, KEY.encode())
    assert response["Content-Type"] == "text/plain; charset=utf-8"
    assert response["Cache-Control"] == "public, max-age=600"
    assert "Vary" not in response
    assert not response.cookies
    assert (head.content, head["Content-Length"]) == (b"", str(len(KEY)))
    headers = {"If-None-Match": response["ETag"]}
    assert client.get(PATH, headers=headers).status_code == 304


@pytest.mark.parametrize(
    "path",
    [
        *(f"/{KEY.upper()}.txt", f"/{KEY}.txt%0a", f"/{KEY}%00.txt", f"/x/{KEY}.txt"),
        *("/humans.txt", f"/{'a' * 500}.txt"),
    ],
)
def test_no_other_name_is_served(client, path):
    """Nor does an answer repeat the path."""
    response = client.get(path)
    assert response.status_code == 404
    assert KEY.encode() not in response.content


def test_without_engines_a_project_without_an_origin_is_not_scolded(
    client, settings, caplog
):
    """Any URL of a text file is asked about, and where the site is costs a query."""
    settings.ROOT_URLCONF = Own
    settings.SITEMAPS_PLUS = {}
    assert client.get("/humans.txt").content == b"mine"
    assert not caplog.records


def test_other_names_are_the_project_s(client, settings):
    settings.ROOT_URLCONF = Own
    assert client.get("/humans.txt").content == b"mine"
    assert client.get("/robots.txt").content == b"mine"
    assert client.get(PATH).content == KEY.encode()
    settings.SITEMAPS_PLUS = SITEMAPS_PLUS
    assert client.get(PATH).content == b"mine"


@pytest.mark.parametrize("broken", [{"BACKEND": "no.such.Engine"}, {}])
def test_engines_that_are_misconfigured_hide_no_other_file(client, settings, broken):
    settings.ROOT_URLCONF = Own
    settings.SITEMAPS_PLUS = {**SITEMAPS_PLUS, "ENGINES": {"broken": broken}}
    assert client.get("/humans.txt").content == b"mine"


def test_an_engine_that_raises_hides_no_other_file(client, settings, monkeypatch):
    """It may be the user's code."""
    settings.ROOT_URLCONF = Own
    monkeypatch.setattr(files, "get_engines", lambda: 1 / 0)
    assert client.get("/humans.txt").content == b"mine"


def test_without_an_origin_there_is_no_file(client, settings):
    settings.SITEMAPS_PLUS = {"ENGINES": ENGINES}
    assert client.get(PATH, headers={"Host": "evil.example"}).status_code == 404


def test_its_url_can_be_written():
    found = reverse("sitemaps_plus:key-file", kwargs={"name": f"{KEY}.txt"})
    assert found == PATH
    with pytest.raises(NoReverseMatch):
        reverse("sitemaps_plus:key-file", kwargs={"name": "other.txt"})
