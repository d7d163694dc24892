"""What real sitemap clients find on the example project is what its tables hold."""

import gzip
import os
import random
import shutil
import sqlite3
from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import product
from pathlib import Path
from typing import Any

import pytest

from tests.acceptance.clients import CLIENTS
from tests.acceptance.site import Site, atlas
from tests.support.documents import read_index, read_urlset
from tests.support.web import Answer

Found = dict[str, str | None]
CITIES, CITIES_IN_ALL, COUNTRIES = 34_006, 234_908, 252
#: With SOAK set, all cities as well.
SIZES = ["default", "all"] if "SOAK" in os.environ else ["default"]

#: Which client crawls the site in which state; with SOAK set, each in both.
CRAWLS = [("scrapy", "live"), ("ultimate-sitemap-parser", "built")]
if "SOAK" in os.environ:
    CRAWLS = [*product(CLIENTS, ["live", "built"])]


@dataclass
class Story:
    """One site from its first hour: served live, then built, then edited."""

    is_all: bool
    site: Site
    table: Found = field(default_factory=dict)
    found: dict[tuple[str, str], Found] = field(default_factory=dict)
    answers: dict[str, dict[str, Answer]] = field(default_factory=dict)
    edited: set[str] = field(default_factory=set)


@pytest.fixture(scope="module", params=SIZES)
def story(request: Any, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Story]:
    """Tell the story once; the tests look at it."""
    site = Site(tmp_path_factory.mktemp(request.param))
    arguments = ["--all"] if request.param == "all" else []
    shutil.copy(atlas(tmp_path_factory, *arguments), site.directory)
    story = Story(request.param == "all", site, table=site.table())
    with site.served():
        look(story, "live")
        site.manage("build_sitemaps")
        look(story, "built")
        story.edited = edit(story)
        yield story
    site.close()


def look(story: Story, state: str) -> None:
    for client in [client for client, when in CRAWLS if when == state]:
        story.found[client, state] = story.site.found_by(client)
    index = story.site.get("/sitemap.xml")
    pages = {url: story.site.get(url) for url in read_index(index.content)}
    story.answers[state] = {"/sitemap.xml": index, **pages}


def edit(story: Story) -> set[str]:
    with sqlite3.connect(story.site.directory / "db.sqlite3") as connection:
        connection.execute(
            "UPDATE atlas_city SET slug = slug || '-renamed' WHERE geoname_id = "
            "(SELECT max(geoname_id) FROM atlas_city)"
        )
    connection.close()
    story.site.manage("build_sitemaps", "--full", "--verbosity", "0")
    changed = set()
    for path, before in story.answers["built"].items():
        answer = story.site.get(path, If_None_Match=before.headers["ETag"])
        if answer.status_code != 304:
            changed.add(path)
    return changed


@pytest.mark.parametrize(("client", "state"), CRAWLS)
def test_a_client_finds_the_table(story, state, client):
    """Every URL, with its date, and none that is not there."""
    found, table = story.found[client, state], story.table
    assert found.keys() - table.keys() == set()
    assert table.keys() - found.keys() == set()
    assert found == table


@pytest.mark.parametrize("state", ["live", "built"])
class TestDocuments:
    def test_every_document_is_valid(self, story, state):
        """Index and pages, by their schemas; each URL is listed once."""
        answers = dict(story.answers[state])
        index = answers.pop("/sitemap.xml")
        listed = [
            entry.loc
            for answer in answers.values()
            for entry in read_urlset(answer.content)
        ]
        assert {answer.status_code for answer in (index, *answers.values())} == {200}
        assert list(read_index(index.content)) == list(answers)
        assert len(listed) == len(set(listed)) == len(story.table)

    def test_versions_name_each_other(self, story, state):
        """Each alternate is listed itself, with the same alternates, on any page."""
        entries = {
            entry.loc: entry.alternates
            for path, answer in story.answers[state].items()
            if path != "/sitemap.xml"
            for entry in read_urlset(answer.content)
        }
        for loc, alternates in entries.items():
            assert loc in dict(alternates[:-1]).values()
            assert {entries[url] for _, url in alternates} == {alternates}
            assert alternates[-1] == ("x-default", dict(alternates)["en"])
        found = {code for alternates in entries.values() for code, _ in alternates}
        assert found == {"en", "el", "he", "ko", "x-default"}

    def test_pages_hold_what_they_should(self, story, state):
        """2,500 rows a page, which are 10,000 entries where they have all languages."""
        pages = -(-(CITIES_IN_ALL if story.is_all else CITIES) // 2_500)
        assert len(story.answers[state]) == pages + 3


class TestTable:
    def test_the_table_is_complete(self, story):
        """Each city, each country, and the two pages of their own, by language."""
        cities = CITIES_IN_ALL if story.is_all else CITIES
        path = story.site.directory / "db.sqlite3"
        connection = sqlite3.connect(path)
        counted = [
            connection.execute(f"SELECT count(*) FROM atlas_{name}").fetchone()[0]  # noqa: S608
            for name in ("city", "country")
        ]
        named = [
            connection.execute(f"SELECT count(slug_{it}) FROM atlas_city").fetchone()[0]  # noqa: S608
            for it in ("el", "he", "ko")
        ]
        connection.close()
        assert counted == [cities, COUNTRIES]
        assert min(named) > 2_000
        assert len(story.table) == cities + sum(named) + 4 * (COUNTRIES + 2)


class TestServing:
    def test_published_bytes_are_the_live_ones(self, story):
        """Pages do not change by being built; only the index learns dates."""
        live, built = story.answers["live"], story.answers["built"]
        assert live.keys() == built.keys()
        for path in live.keys() - {"/sitemap.xml"}:
            assert built[path].content == live[path].content
            assert built[path].headers["ETag"] == live[path].headers["ETag"]

    def test_listed_pages_exist(self, story):
        """Some of each kind, names in other scripts among them, answer 200."""
        urls = sorted(story.table)
        chosen = random.Random(20261121).sample(urls, 25)
        chosen += [url for url in urls if "%" in url][:5]
        renamed = {url for url in chosen if story.site.get(url).status_code != 200}
        assert len(chosen) >= 25
        assert len(renamed) <= 1  # the city that was edited after the crawl

    def test_objects_are_what_is_served(self, story):
        """Each file in storage holds the bytes of a published page."""
        root = Path(story.site.environment["ACCEPTANCE_MEDIA_ROOT"])
        stored = {gzip.decompress(p.read_bytes()) for p in root.rglob("*.xml.gz")}
        assert {answer.content for answer in story.answers["built"].values()} <= stored

    def test_check_sitemaps_finds_nothing(self, story):
        """In the files, by the server, and on the pages they list."""
        site = story.site
        pages, count = len(story.answers["built"]) - 1, len(story.table)
        tree = site.directory / "media" / "sitemaps" / "public"
        files = f"{pages + 1} files, {count:,} entries: 0 errors, 0 warnings\n"
        places = [str(tree), site.base_url + "/sitemap.xml", "--audit"]
        for where in places if "SOAK" in os.environ else places[1:2]:
            assert site.manage("check_sitemaps", where) == files

    def test_an_edit_costs_a_crawler_two_files(self, story):
        """The page of the city and the index; all others are 304."""
        (page,) = story.edited - {"/sitemap.xml"}
        assert story.edited == {"/sitemap.xml", page}
        assert "/sitemap-cities-" in page

    def test_gzip_over_the_wire(self, story):
        """Encoded for who accepts it, with the right length; HEAD has no body."""
        path = "/sitemap-countries-1.xml"
        plain = story.site.get(path)
        packed = story.site.get(path, Accept_Encoding="gzip")
        head = story.site.get(path, method="HEAD", Accept_Encoding="gzip")
        assert packed.headers["Content-Encoding"] == "gzip"
        assert gzip.decompress(packed.content) == plain.content
        assert head.content == b""
        assert head.headers["Content-Length"] == str(len(packed.content))
        vary = "Accept-Encoding, Accept-Language"  # the latter is LocaleMiddleware's
        assert plain.headers["Vary"] == packed.headers["Vary"] == vary

    def test_what_does_not_exist_is_404(self, story):
        """A page past the last one, and a section that nobody registered."""
        for path in ("/sitemap-cities-99.xml", "/sitemap-towns-1.xml"):
            assert story.site.get(path).status_code == 404
