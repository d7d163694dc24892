"""The files: objects, and the public tree as a web server looks at it."""

from __future__ import annotations

import gzip
import hashlib
import time
from collections.abc import Collection, Iterator, Mapping
from pathlib import Path

from django_sitemaps_plus.conf import get_settings
from django_sitemaps_plus.models import Page, State
from django_sitemaps_plus.publishing.sync import _COLUMNS, Pointer, _looked_at
from django_sitemaps_plus.publishing.tree import public_tree
from django_sitemaps_plus.storage import read_object

from .published import urls_in, urls_of, wrong_documents
from .shop import ORIGIN, lost_objects


def public_files(media: Path) -> dict[str, bytes]:
    """Return what the tree holds, by name, unfinished files left out."""
    found = (media / "sitemaps" / "public").glob("[!.]*")
    return {path.name: path.read_bytes() for path in found}


def hash_of(data: bytes) -> str:
    """Return what pages call their gzip hash."""
    return hashlib.sha256(data).hexdigest()


def wrong_public(media: Path, earlier: Collection[str]) -> Iterator[str]:
    """Yield what a reader of the tree would find wrong, in words.

    A name may lag behind its page, but it never shows what no page has pointed to.
    """
    files = public_files(media)
    known = {*earlier, *Page.objects.values_list("gzip_hash", flat=True)}
    for name, data in files.items():
        try:
            packed = data if name.endswith(".gz") else gzip.compress(data)
            plain = gzip.decompress(packed)
        except (EOFError, OSError) as error:
            yield f"public {name}: {error}"
            continue
        if not plain.rstrip().endswith((b"</urlset>", b"</sitemapindex>")):
            yield f"public {name} is no whole document"
        if name.endswith(".gz") and hash_of(data) not in known:
            yield f"public {name} shows what was never published"
    yield from unlisted(files)


def unlisted(files: dict[str, bytes]) -> Iterator[str]:
    """Yield the pages that the public index names and that are not there, in words."""
    if "sitemap.xml.gz" not in files:
        return
    for url in urls_in(gzip.decompress(files["sitemap.xml.gz"])):
        name = url.removeprefix(f"{ORIGIN}/") + ".gz"
        if name not in files:
            yield f"public {name} is listed and missing"


def unlike_pages(media: Path) -> list[str]:
    """Return how the tree differs from what the pages say it shows, in words."""
    expected = dict(_expected())
    found = {name: data for name, (data, _) in expected.items()}
    files = public_files(media)
    wrong = [f"public {name} should not be there" for name in files.keys() - found]
    wrong += [f"public {name} is missing" for name in found.keys() - files.keys()]
    for name in found.keys() & files.keys():
        if files[name] != found[name]:
            wrong.append(f"public {name} is not what its page says")
        modified = (media / "sitemaps" / "public" / name).stat().st_mtime
        if int(modified) != expected[name][1]:
            wrong.append(f"public {name} has not the time of its publication")
    return wrong


def _expected() -> Iterator[tuple[str, tuple[bytes, int]]]:
    rows = Page.objects.exclude(object="").exclude(state=State.NEXT)
    for *found, gzip_hash in rows.values_list(*_COLUMNS, "gzip_hash"):
        pointer = Pointer(*found)
        if pointer.published_at is None:
            continue
        second = int(pointer.published_at.timestamp())
        data = read_object(pointer.object, gzip_hash)
        yield f"{pointer.name}.xml.gz", (data, second)
        if get_settings().public_plain:
            yield f"{pointer.name}.xml", (gzip.decompress(data), second)


def wrong_files(media: Path) -> Iterator[str]:
    """Yield the objects that are not whole, in words; of names that are taken."""
    for path in media.rglob("*.xml.gz"):
        try:
            gzip.decompress(path.read_bytes())
        except (EOFError, OSError) as error:
            yield f"{path.name}: {error}"


def wrong_set(
    documents: Mapping[str, bytes], media: Path, earlier: Collection[str]
) -> list[str]:
    """Return what is wrong with what a crawler found, and on disk, in words."""
    listed = urls_of(documents)
    found = [*wrong_documents(documents), *wrong_files(media), *lost_objects()]
    found += wrong_public(media, earlier)
    if len(set(listed)) < len(listed):
        found.append("a URL is listed twice")
    return found


def is_harmless(difference: str) -> bool:
    """Return whether it is the name of an empty page, which no index lists."""
    return "should not be there" in difference


def just_looked() -> None:
    """Have all public names looked at a moment ago, so that no look is due."""
    tree = public_tree()
    if tree is not None:
        _looked_at[tree.root] = time.monotonic()
