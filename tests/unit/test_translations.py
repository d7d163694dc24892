"""The translations: whole, as compiled, and of the words that the code has."""

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import django
import polib
import pytest

PACKAGE = Path(__file__).parents[2] / "django_sitemaps_plus"
FILES = sorted(PACKAGE.glob("locale/*/LC_MESSAGES/django.po"))

_PLACEHOLDER = re.compile(r"%\(\w+\)[a-z]|%[a-z%]|\{\w+\}")


@pytest.fixture(params=FILES, ids=lambda path: path.parts[-3])
def path(request: pytest.FixtureRequest) -> Path:
    return request.param


def keyed(entries: polib.POFile | polib.MOFile) -> dict[tuple[str, str], object]:
    return {(it.msgctxt, it.msgid): it.msgstr_plural or it.msgstr for it in entries}


def placeholders(text: str) -> set[str]:
    return set(_PLACEHOLDER.findall(text))


def forms(entry: polib.POEntry) -> Iterator[tuple[set[str], set[str], bool]]:
    """Yield the placeholders of a text and of each form of its translation.

    With whether the form is of one number only, which it need not have.
    """
    wanted = placeholders(entry.msgid_plural or entry.msgid)
    numbers = len(entry.msgstr_plural) - 1
    for index, text in (entry.msgstr_plural or {1: entry.msgstr}).items():
        yield wanted, placeholders(text), index < numbers


def test_there_are_german_and_one_from_right_to_left():
    assert [path.parts[-3] for path in FILES] == ["de", "he"]


def test_every_text_is_translated(path: Path):
    entries = polib.pofile(str(path))
    assert entries.percent_translated() == 100
    assert [it.msgid for it in entries if it.fuzzy or it.obsolete] == []


def test_the_compiled_file_says_the_same(path: Path):
    compiled = polib.mofile(str(path.with_suffix(".mo")))
    entries = polib.pofile(str(path))
    assert keyed(compiled) == keyed(entries)
    assert compiled.metadata == entries.metadata


def test_translations_have_the_placeholders_of_the_text(path: Path):
    """A form for one number, such as "yesterday", may leave the number out."""
    for entry in polib.pofile(str(path)):
        for wanted, found, is_of_one in forms(entry):
            assert found <= wanted, entry.msgid
            assert found == wanted or is_of_one, entry.msgid


def test_words_of_django_stay_as_django_has_them(path: Path):
    """Ours would take their place in all of the admin."""
    ours, language = keyed(polib.pofile(str(path))), path.parts[-3]
    for part in ("conf", "contrib/admin"):
        theirs = Path(django.__file__).parent / part / "locale" / language
        known = keyed(polib.pofile(str(theirs / "LC_MESSAGES" / "django.po")))
        shared = ours.keys() & known.keys()
        assert shared
        assert {it: ours[it] for it in shared} == {it: known[it] for it in shared}


@pytest.mark.skipif(not shutil.which("xgettext"), reason="there is no xgettext")
def test_the_texts_are_those_of_the_code(tmp_path: Path):
    """Else run `make messages`, and translate what is new."""
    copy = tmp_path / PACKAGE.name
    shutil.copytree(PACKAGE, copy, ignore=shutil.ignore_patterns("__pycache__"))
    languages = [word for path in FILES for word in ("-l", path.parts[-3])]
    command = [sys.executable, "-m", "django", "makemessages", *languages]
    environment = {**os.environ, "DJANGO_SETTINGS_MODULE": ""}
    subprocess.run(command, cwd=copy, env=environment, check=True, capture_output=True)
    for path in FILES:
        made = polib.pofile(str(copy / path.relative_to(PACKAGE)))
        wanted = {(it.msgid, it.msgid_plural) for it in made if not it.obsolete}
        known = {(it.msgid, it.msgid_plural) for it in polib.pofile(str(path))}
        assert known == wanted
