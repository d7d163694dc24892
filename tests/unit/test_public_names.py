"""Public names, as a list beside this file: whoever removes one deprecates it first.

``python -m tests.unit.test_public_names`` writes the list anew.
"""

import importlib
import inspect
import os
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import django

KEPT = Path(__file__).with_name("public_names.txt")
PACKAGE = "django_sitemaps_plus"

#: Modules all of whose documented names are public.
MODULES = (
    *("", "conf", "contrib.views", "exceptions", "notifications"),
    *("notifications.http", "signals", "storage", "testing"),
)

#: Modules that are included, and name the URLs that users reverse.
URLS = ("urls", "html_urls", "monitoring_urls")

_CODE = re.compile(r"^```.*?^```$|`[^`\n]+`", re.MULTILINE | re.DOTALL)
_IMPORT = re.compile(rf"from ({PACKAGE}[\w.]*) import (\([^)]+\)|[\w, ]+)")


def public_names() -> list[str]:
    """Return what users may rely on, one thing a line."""
    # Not at the top: it needs Django, which a program sets up first.
    from django_sitemaps_plus.templatetags import sitemaps_plus

    from . import test_docs

    modules = [importlib.import_module(f"{PACKAGE}.{name}") for name in URLS]
    commands = {name: test_docs.own_arguments(name) for name in test_docs.COMMANDS}
    names = {
        *_names_of_python(test_docs.DOCUMENTS),
        *[f"check sitemaps_plus.{code}" for code in test_docs.check_ids()],
        *[f"command {name}" for name in commands],
        *[f"command {name} {it}" for name, own in commands.items() for it in own],
        *[f"problem {name}" for name in test_docs.problem_ids()],
        *map("setting {}".format, test_docs.AppSettings.keys()),
        *[f"signal {k}({', '.join(sorted(v))})" for k, v in test_docs.sent().items()],
        *[f"tag {name}" for name in sitemaps_plus.register.tags],
        *[f"task {name}" for name in test_docs.app.tasks if name.startswith(PACKAGE)],
        *[f"url {it.app_name}:{url.name}" for it in modules for url in it.urlpatterns],
    }
    return sorted(names)


def _names_of_python(documents: list[Path]) -> Iterator[str]:
    """Yield the names that the documentation has, with their parameters."""
    texts = [path.read_text("utf-8") for path in documents]
    code = "\n".join(_CODE.findall("\n".join(texts)))
    words = set(re.findall(r"\w{2,}", code))
    elsewhere = set(re.findall(rf"\b{PACKAGE}\.[a-z_.]+\.[A-Z]\w+", code))
    for module, imported in _IMPORT.findall(code):
        elsewhere |= {f"{module}.{name}" for name in re.findall(r"\w+", imported)}
    values: dict[str, Any] = {}
    for name in MODULES:
        held = vars(importlib.import_module(f"{PACKAGE}.{name}".rstrip(".")))
        name = held["__name__"]
        own = [k for k, v in held.items() if getattr(v, "__module__", name) == name]
        public = words.intersection(held.get("__all__", own))
        values |= {f"{name}.{it}": held[it] for it in public}
    yield from elsewhere - set(values)
    for name, value in values.items():
        yield name + _parameters(value)
        kind = value if inspect.isclass(value) else type(value)
        known = {id(it) for it in values.values() if it is not kind}
        for above in [it for it in kind.__mro__ if id(it) not in known]:
            held = vars(above) if above.__module__.startswith(PACKAGE) else {}
            for it in words.intersection({*held, *held.get("__annotations__", {})}):
                if it[0] != "_":
                    yield f"{name}.{it}{_parameters(held.get(it))}"


def _parameters(value: Any) -> str:
    """Return the names of parameters, those with ``=`` that may be left out."""
    value = getattr(value, "__func__", value)
    if inspect.isclass(value) and value.__module__.startswith(PACKAGE):
        value = vars(value).get("__init__")
    if not inspect.isfunction(value):
        return ""
    given = inspect.signature(value).parameters.values()
    marks = {inspect.Parameter.VAR_POSITIONAL: "*", inspect.Parameter.VAR_KEYWORD: "**"}
    names = [
        marks.get(it.kind, "") + it.name + "=" * (it.default is not it.empty)
        for it in given
        if it.name not in ("self", "cls")
    ]
    return f"({', '.join(names)})"


def test_public_names_are_those_of_the_list():
    kept, now = set(KEPT.read_text("utf-8").splitlines()), set(public_names())
    assert not kept - now, (
        f"Gone: {sorted(kept - now)}. These names are public: keep each for two minor "
        "releases with a DeprecationWarning and a line in the changelog."
    )
    assert not now - kept, (
        f"New: {sorted(now - kept)}. Is each meant for users? If so, write the list "
        f"anew: python -m {__spec__.name}"
    )


if __name__ == "__main__":
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "tests.support.settings")
    django.setup()
    KEPT.write_text("\n".join(public_names()) + "\n", "utf-8")
