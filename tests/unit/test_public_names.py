"""What users import, and when they may."""

from __future__ import annotations

import subprocess
import sys

import django_sitemaps_plus
from django_sitemaps_plus import core


def run(code: str) -> str:
    """Return what a fresh interpreter without settings prints."""
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", code],
        capture_output=True,
        text=True,
        env={"PYTHONPATH": ":".join(filter(None, sys.path))},
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


def test_the_root_exports_every_public_name_it_holds():
    """What is not meant for users is a module or begins with an underscore."""
    names = {
        name
        for name, value in vars(django_sitemaps_plus).items()
        if not name.startswith("_")
        and not isinstance(value, type(sys))
        and name not in ("annotations", "TYPE_CHECKING", "Any")
    }
    assert sorted(names) == django_sitemaps_plus.__all__
    assert names >= {
        *("register", "registry", "Source", "ModelSource", "ViewSource", "Route"),
        *("Entry", "Image", "Video", "News", "Alternate", "notify_changed"),
    }


class TestImport:
    def test_the_root_is_importable_before_django_is_set_up(self):
        """A settings module may import from it."""
        assert run(
            "import django_sitemaps_plus as p\n"
            "for name in p.__all__: getattr(p, name)\n"
            "import sys; print('django_sitemaps_plus.models' in sys.modules)"
        ) == ("False")

    def test_sources_can_be_declared_before_django_is_set_up(self):
        assert run(
            "from django_sitemaps_plus import *\n"
            "@register('pages')\n"
            "class Pages(ViewSource):\n"
            "    views = ['home']\n"
            "print(*registry)"
        ) == ("pages")

    def test_the_core_needs_no_django(self):
        package = core.__name__
        found = run(
            "import sys, types\n"
            # The package's own __init__ imports Django.
            "root = types.ModuleType('django_sitemaps_plus')\n"
            f"root.__path__ = {list(django_sitemaps_plus.__path__)!r}\n"
            "sys.modules['django_sitemaps_plus'] = root\n"
            "import pkgutil, importlib, django_sitemaps_plus.core as core\n"
            f"for found in pkgutil.walk_packages(core.__path__, '{package}.'):\n"
            "    importlib.import_module(found.name)\n"
            "print(len([m for m in sys.modules if m.startswith('django.')]),"
            " 'django_sitemaps_plus.core.documents' in sys.modules)"
        )
        assert found == "0 True"
