"""The documentation names what there is, and nothing that there is not."""

import ast
import configparser
import dataclasses
import importlib
import inspect
import re
import runpy
import shlex
import shutil
import subprocess
import sys
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
import yaml
from django.apps import apps
from django.core.exceptions import ImproperlyConfigured
from django.core.management import get_commands, load_command_class
from django.core.management.base import BaseCommand

import django_sitemaps_plus
from django_sitemaps_plus import core, exceptions, tasks, testing, urls
from django_sitemaps_plus.building.report import BuildReport, SectionReport
from django_sitemaps_plus.conf import SETTING, AppSettings
from django_sitemaps_plus.diagnostics.problems import Problem
from django_sitemaps_plus.diagnostics.status import EngineStatus, SectionStatus
from django_sitemaps_plus.exceptions import (
    BuildError,
    ConfigurationError,
    NotRegistered,
    SitemapsPlusError,
)
from django_sitemaps_plus.sources.fields import FIELDS
from tests.support.celery_app import app

TOP = Path(__file__).parents[2]
DOCS = TOP / "docs"
PACKAGE = Path(django_sitemaps_plus.__file__).parent
DOCUMENTS = [TOP / "README.md", *sorted(DOCS.rglob("*.md"))]

#: The words of the glossary, each a heading there.
WORDS = {
    *("Source", "Section", "Entry", "Page", "Plan", "Index", "Build", "Object"),
    *("Publication", "Change", "Wake-up", "Claim", "Lease", "URL change", "Engine"),
    *("Delivery", "Engine host", "Site", "Flip", "Guard", "Audit", "Look-back"),
    *("Parked", "Exclusion", "Problem"),
}

_FENCE = re.compile(r"^```.*?^```$", re.MULTILINE | re.DOTALL)
_BLOCK = re.compile(r"^```python\n(.*?)^```$", re.MULTILINE | re.DOTALL)
_LINK = re.compile(r"\]\(([^)\s]+)\)")
_CODE = re.compile(r"`([^`\n]+)`")
_ROW = re.compile(r"^\| `(\S+?)[ `]", re.MULTILINE)


def text_of(name: str) -> str:
    return (DOCS / "reference" / f"{name}.md").read_text("utf-8")


def prose(text: str) -> str:
    return _FENCE.sub("", text)


def headings(text: str, level: int = 2) -> list[str]:
    return re.findall(rf"^{'#' * level} (.+)$", prose(text), re.MULTILINE)


def part(name: str, heading: str) -> str:
    _, _, rest = f"\n{text_of(name)}".partition(f"\n## {heading}\n")
    return rest.partition("\n## ")[0]


def codes(text: str) -> set[str]:
    return set(_CODE.findall(prose(text)))


def anchors(path: Path) -> set[str]:
    found = re.findall(r"^#{1,3} (.+)$", prose(path.read_text("utf-8")), re.MULTILINE)
    plain = [re.sub(r"[^\w\- ]", "", title).lower() for title in found]
    return {title.replace(" ", "-") for title in plain}


def blocks(path: Path) -> Iterator[object]:
    """Yield the blocks of Python of a document, each named after its line."""
    text = path.read_text("utf-8")
    for match in _BLOCK.finditer(text):
        line = text[: match.start()].count("\n") + 2
        yield pytest.param(match[1], id=f"{path.relative_to(TOP)}:{line}")


def calls(top: Path, word: str = "") -> Iterator[ast.Call]:
    """Yield the calls that the modules below a directory make which have a word."""
    for text in [path.read_text("utf-8") for path in top.rglob("*.py")]:
        nodes = ast.walk(ast.parse(text if word in text else ""))
        yield from [node for node in nodes if isinstance(node, ast.Call)]


def check_ids() -> set[str]:
    """Return the ids that the code of the checks can give."""
    letters = {"error": "E", "warning": "W", "SettingsFault": "E"}
    made = [*calls(PACKAGE / "checks"), *calls(PACKAGE / "diagnostics")]
    named = [(letters.get(ast.unparse(it.func)), it) for it in made]
    return {
        f"{letter}{call.args[0].value:03}"
        for letter, call in named
        if letter and isinstance(call.args[0], ast.Constant)
    }


def sent() -> dict[str, set[str]]:
    return {
        ast.unparse(call.func.value): {str(k.arg) for k in call.keywords} - {"sender"}
        for call in calls(PACKAGE, "send_robust")
        if isinstance(call.func, ast.Attribute) and call.func.attr == "send_robust"
    }


def arguments(command: BaseCommand) -> set[str]:
    parser = command.create_parser("manage.py", "command")
    positional = {str(action.metavar) for action in parser._get_positional_actions()}
    return positional.union(parser._option_string_actions)


def own_arguments(name: str) -> set[str]:
    """Return the arguments of a command that not every command has."""
    command = load_command_class("django_sitemaps_plus", name)
    return arguments(command) - arguments(BaseCommand())


def problem_ids() -> set[str]:
    module = (PACKAGE / "diagnostics/problems.py").read_text()
    of = "audit|index|origin|section|pages|engine|settings|worker"
    return set(re.findall(rf'"((?:{of})_[a-z]{{3,}})"', module))


def is_from(value: object, module: ModuleType) -> bool:
    return getattr(value, "__module__", None) == module.__name__


COMMANDS = sorted(
    path.stem for path in (PACKAGE / "management" / "commands").glob("[a-z]*.py")
)
MODELS = [
    it for it in apps.get_app_config("sitemaps_plus").get_models() if not it._meta.proxy
]
BLOCKS = [block for path in DOCUMENTS for block in blocks(path)]


class TestReference:
    def test_headings_are_what_the_code_defines(self):
        found = [title for title in headings(text_of("settings")) if title.isupper()]
        assert found == AppSettings.keys()
        assert sorted(headings(text_of("checks"))) == sorted(check_ids())
        assert headings(text_of("commands")) == COMMANDS
        errors = [k for k, v in vars(exceptions).items() if is_from(v, exceptions)]
        assert headings(text_of("errors"))[:-1] == errors
        found = headings(text_of("sources")) + headings(text_of("entries"))
        assert set(django_sitemaps_plus.__all__) <= set(found)

    def test_the_doctor_explains_each_check(self, run):
        for code in check_ids():
            said = run("sitemap_doctor", "--explain", code)
            assert said.startswith(f"sitemaps_plus.{code}\n\n")
            assert len(headings(said)) == len(_LINK.findall(said)) == 0

    def test_settings_have_their_default(self):
        for item in dataclasses.fields(AppSettings):
            if item.name in ("unknown", "wrong"):
                continue
            said = re.search(r"Default: `(.+)`\.", part("settings", item.name.upper()))
            assert said, item.name
            made = item.default_factory
            default = item.default if made is dataclasses.MISSING else made()
            assert ast.literal_eval(said[1]) == default

    @pytest.mark.parametrize("name", COMMANDS)
    def test_command_is_documented_with_its_arguments(self, name: str):
        table = part("commands", name).partition("\n### ")[0]
        assert set(_ROW.findall(table)) == own_arguments(name)

    def test_the_report_of_a_build_is_documented(self):
        """Each key that `build_sitemaps --json` prints is in a table, in no order."""
        _, _, report = part("commands", "build_sitemaps").partition("### The report")
        fields = [*dataclasses.fields(BuildReport), *dataclasses.fields(SectionReport)]
        tables = report.partition("\n### ")[0]
        keys = codes(tables) - {"--json", "null", '""'}
        assert {"relay_errors"} | {field.name for field in fields} == keys

    def test_the_json_of_the_status_is_documented(self):
        """Each key that `sitemap_status --json` prints begins a row, in no order."""
        _, _, said = part("commands", "sitemap_status").partition("### The JSON")
        keys = [line.split("|")[1] for line in said.splitlines() if line[:1] == "|"]
        kinds = SectionStatus, EngineStatus, Problem
        fields = {it.name for kind in kinds for it in dataclasses.fields(kind)}
        assert codes("\n".join(keys)) == fields.union(problem_ids())

    def test_signals_are_documented_with_their_arguments(self):
        said = {
            cells[1]: set(_CODE.findall(cells[3]))
            for line in text_of("signals").splitlines()
            if len(cells := line.split("|")) == 5 and "`" in cells[1]
        }
        assert said == {f" `{name}` ": names for name, names in sent().items()}

    @pytest.mark.parametrize("name", ["Entry", "Image", "Alternate", "News", "Video"])
    def test_values_are_documented_with_their_arguments(self, name: str):
        kind = getattr(django_sitemaps_plus, name)
        fields = [field.name for field in dataclasses.fields(kind)]
        assert _ROW.findall(part("entries", name)) == fields

    @pytest.mark.parametrize("model", MODELS)
    def test_models_are_documented_with_their_fields(self, model: type):
        fields = [field.name for field in model._meta.fields]
        assert _ROW.findall(part("models", model.__name__)) == fields

    def test_declarations_are_all_documented(self):
        table = part("sources", "Declarations").partition("\nA declaration is")[0]
        assert tuple(_ROW.findall(table)) == FIELDS

    @pytest.mark.parametrize("name", ["Source", "ModelSource", "ViewSource"])
    def test_sources_are_documented_with_their_attributes(self, name: str):
        kind = getattr(django_sitemaps_plus, name)
        above = kind.__mro__[: kind.__mro__.index(django_sitemaps_plus.Source)]
        attributes = set().union(*[it.__annotations__ for it in above or [kind]])
        assert attributes.difference(FIELDS) <= codes(part("sources", name))

    def test_urls_are_all_documented(self):
        named = {f"{urls.app_name}:{pattern.name}" for pattern in urls.urlpatterns}
        assert named <= codes(text_of("urls"))

    def test_headers_are_all_documented(self):
        views = (PACKAGE / "views").glob("*.py")
        code = "".join([path.read_text("utf-8") for path in views])
        assert set(re.findall(r'response\["([\w-]+)"\]', code)) <= {
            word.partition(":")[0] for word in codes(text_of("urls"))
        }

    def test_test_helpers_are_all_documented(self):
        found = vars(testing).items()
        public = {k for k, v in found if is_from(v, testing) and k[0] != "_"}
        guide = (DOCS / "how-to" / "test-your-sources.md").read_text("utf-8")
        assert public <= codes(guide)

    def test_architecture_names_files_that_exist(self):
        page = (DOCS / "explanation" / "architecture.md").read_text("utf-8")
        named = set(re.findall(r"`([\w/]+(?:\.py|/))`", page))
        assert [name for name in named if not (PACKAGE / name).exists()] == []

    def test_glossary_has_the_words_of_the_design(self):
        terms = re.findall(r"^\*\*([^*]+)\*\*: ", text_of("glossary"), re.MULTILINE)
        assert set(terms) >= WORDS


@pytest.mark.parametrize(
    "title",
    [
        *("Publish at a time", "Deploy", "Staging, copies and restore", "Upgrade"),
        *("Something is wrong", "Do I need builds? Which worker?", "Leave", "Compare"),
        *("How large it grows", "How far it goes", "Tenants and schemas"),
    ],
)
def test_the_index_links_what_people_look_for(title: str):
    index = (DOCS / "index.md").read_text("utf-8")
    [page] = re.findall(rf"\[{re.escape(title)}\]\((.+?)\)", index)
    assert (DOCS / page).read_text("utf-8").startswith(f"# {title}\n")


def test_the_readme_of_the_package_index_has_absolute_links():
    absolute = runpy.run_path(str(TOP / "setup.py"))["absolute"]
    text = "[![a](docs/a.png)](docs/b.md#c) [d](https://d.example) [e](#f)"
    assert absolute(text, "") == text
    assert absolute(text, "https://code.example/x/") == (
        "[![a](https://code.example/x/raw/HEAD/docs/a.png)]"
        "(https://code.example/x/blob/HEAD/docs/b.md#c) [d](https://d.example) [e](#f)"
    )


@pytest.mark.parametrize("block", BLOCKS)
def test_block_of_python_fits_the_package(block: str):
    """It compiles; the settings that it gives and the names that it imports exist."""
    for node in ast.walk(ast.parse(block)):
        if (
            isinstance(node, ast.Assign)
            and ast.unparse(node.targets[0]) == SETTING
            and isinstance(node.value, ast.Dict)
        ):
            given = {ast.literal_eval(key) for key in node.value.keys if key}
            assert given <= set(AppSettings.keys())
        elif isinstance(node, ast.ImportFrom) and (
            (node.module or "").partition(".")[0] == "django_sitemaps_plus"
        ):
            if str(node.module).endswith(".contrib.wagtail"):
                pytest.importorskip("wagtail", reason="wagtail is not installed")
            module = importlib.import_module(str(node.module))
            for alias in node.names:
                with suppress(ImportError):  # it may be a module
                    importlib.import_module(f"{node.module}.{alias.name}")
                assert hasattr(module, alias.name), alias.name


def scheduled(path: Path) -> list[str]:
    """Return the tasks that the settings in a document have beat send."""
    return [
        entry["task"]
        for block in _BLOCK.findall(path.read_text("utf-8"))
        for node in ast.walk(ast.parse(block))
        if isinstance(node, ast.Assign)
        and ast.unparse(node.targets[0]) == "CELERY_BEAT_SCHEDULE"
        for entry in ast.literal_eval(node.value).values()
    ]


def test_schedule_names_tasks_that_exist():
    """By the names that workers know them by; none but what others call is missing."""
    names = set(scheduled(DOCS / "how-to" / "build-with-celery.md"))
    own = {name for name in app.tasks if name.startswith(tasks.__name__)}
    called = {f"{tasks.__name__}.{name}" for name in ("build_pages", "audit_listed")}
    assert own - names == called
    assert names <= own


@pytest.mark.parametrize(
    "path", [pytest.param(p, id=str(p.relative_to(TOP))) for p in DOCUMENTS]
)
def test_internal_links_lead_somewhere(path: Path):
    for link in _LINK.findall(prose(path.read_text("utf-8"))):
        if "://" in link:
            continue
        name, _, anchor = link.partition("#")
        target = (path.parent / name).resolve() if name else path
        assert target.is_file(), link
        assert not anchor or anchor in anchors(target), link


def location() -> str:
    """Return the directory that the guide to storages keeps files in."""
    guide = (DOCS / "how-to" / "choose-a-storage.md").read_text("utf-8")
    return re.findall(r'"location": "(/.+)"', guide)[0]


class TestCompose:
    FILE = yaml.safe_load((DOCS / "examples" / "compose.yaml").read_text("utf-8"))
    SERVICES = FILE["services"]

    def test_commands_are_those_of_the_project(self):
        commands = {k: it["command"] for k, it in self.SERVICES.items() if k != "db"}
        managed = [it for it in commands.values() if it[:2] == ["python", "manage.py"]]
        assert {it[2] for it in managed} <= set(get_commands())
        assert commands["worker"][2:] == ["run_sitemaps"]
        assert set(commands) - {"web"} == {"migrate", "worker"}
        assert self.SERVICES["worker"]["stop_signal"] == "SIGTERM"

    def test_the_worker_writes_where_web_servers_read(self):
        mounts = {
            name: it.split(":")
            for name in ("web", "worker")
            for it in self.SERVICES[name]["volumes"]
        }
        directory = ["sitemaps", location()]
        assert mounts == {"web": [*directory, "ro"], "worker": directory}

    def test_what_is_named_is_there(self):
        """Volumes, services that others wait for, and the settings of the database."""
        named = [it for s in self.SERVICES.values() for it in s.get("volumes", ())]
        assert {it.split(":")[0] for it in named} == set(self.FILE["volumes"])
        for service in self.SERVICES.values():
            for name, how in service.get("depends_on", {}).items():
                healthy = how["condition"] == "service_healthy"
                assert healthy == ("healthcheck" in self.SERVICES[name])
        given = self.SERVICES["db"]["environment"]
        url = "postgresql://{POSTGRES_USER}:{POSTGRES_PASSWORD}@db/{POSTGRES_DB}"
        assert self.SERVICES["web"]["environment"]["DATABASE_URL"] == url.format(
            **given
        )

    def test_settings_read_the_database(self, monkeypatch: pytest.MonkeyPatch):
        """As the guide shows them, from the variable of the containers."""
        guide = (DOCS / "how-to" / "deploy.md").read_text("utf-8")
        [code] = re.findall(r"```python\n(import environ\n.+?)```", guide, re.DOTALL)
        url = self.SERVICES["web"]["environment"]["DATABASE_URL"]
        monkeypatch.setenv("DATABASE_URL", url.replace("${DB_PASSWORD}", "secret"))
        names: dict[str, Any] = {}
        exec(code, names)  # noqa: S102 - our own guide
        read = names["DATABASES"]["default"]
        kept = [read[it] for it in ("ENGINE", "USER", "PASSWORD", "HOST", "NAME")]
        backend = "django.db.backends.postgresql"
        assert kept == [backend, "shop", "secret", "db", "shop"]

    def test_the_image_has_the_project_and_a_directory_of_its_user(self):
        """Where the storage keeps files; its commands are on this machine as well."""
        text = (DOCS / "examples" / "Dockerfile").read_text("utf-8")
        steps = [it for it in text.splitlines() if it and it[0] != "#"]
        order = "FROM WORKDIR COPY RUN COPY RUN USER"
        assert [it.partition(" ")[0] for it in steps] == order.split()
        top, user = re.findall(r"^(?:WORKDIR|USER) (.+)$", text, re.MULTILINE)
        installed, made = [shlex.split(it)[1:] for it in steps if it[:3] == "RUN"]
        assert f"COPY {installed[-1]} ." in steps
        assert made[made.index("&&") - 1] == made[made.index("-o") + 1] == user
        assert f"{top}/{made[-1]}" == location()
        assert all(map(shutil.which, ("useradd", "install")))
        assert self.SERVICES["web"]["build"] == "."

    def test_the_health_check_asks_the_index_where_the_server_listens(self):
        web = self.SERVICES["web"]
        *_, code = web["healthcheck"]["test"]
        ast.parse(code)
        port, path = re.findall(r"http://127.0.0.1:(\d+)/([\w.]+)", code)[0]
        assert f"--bind=0.0.0.0:{port}" in web["command"]
        assert path in {str(it.pattern) for it in urls.urlpatterns}


class TestUnit:
    FILE = DOCS / "examples" / "sitemaps.service"

    def parsed(self) -> Any:
        parser = configparser.RawConfigParser()
        parser.optionxform = str  # type: ignore[assignment, method-assign]
        parser.read_string(self.FILE.read_text("utf-8"))
        return parser["Service"]

    def test_it_keeps_the_worker_running_and_lets_it_end(self):
        service = self.parsed()
        top = service["WorkingDirectory"]
        python, *words = shlex.split(service["ExecStart"])
        assert python == f"{top}/.venv/bin/python"
        assert words == ["manage.py", "run_sitemaps"]
        assert service["ReadWritePaths"] == location()
        assert (service["Restart"], service["KillSignal"]) == ("always", "SIGTERM")

    @pytest.mark.skipif(
        shutil.which("systemd-analyze") is None, reason="systemd is not installed"
    )
    def test_systemd_finds_nothing_wrong(self, tmp_path: Path):
        """Where the interpreter is there; else it only says that it is not."""
        text, python = self.FILE.read_text("utf-8"), "/srv/shop/.venv/bin/python"
        unit = tmp_path / self.FILE.name
        unit.write_text(text.replace(python, sys.executable))
        done = subprocess.run(
            ["systemd-analyze", "verify", str(unit)],
            capture_output=True,
            text=True,
            check=False,
        )
        assert (done.returncode, done.stderr) == (0, "")


ERRORS = [
    value
    for _, value in inspect.getmembers(exceptions, inspect.isclass)
    if value.__module__ == exceptions.__name__
]


def drawn() -> dict[str, str]:
    """Return each error of the docstring's tree, and the one that it hangs from."""
    parents: dict[str, str] = {}
    path: list[tuple[int, str]] = []
    for line in (exceptions.__doc__ or "").splitlines():
        found = re.match(r"[ |+-]*\b([A-Z][a-z]+[A-Z]\w+)", line)
        if found is None:
            continue
        depth, name = found.start(1), found[1]
        path = [(place, above) for place, above in path if place < depth]
        parents[name] = path[-1][1] if path else "Exception"
        path.append((depth, name))
    return parents


def test_the_guide_to_upgrading_names_what_is_supported():
    """The versions of its table are those of the package's classifiers."""
    metadata = (TOP / "pyproject.toml").read_text()
    named = re.findall(r':: (?:Django|Python) :: (\d\.\d+)"', metadata)
    text = (DOCS / "how-to" / "upgrade.md").read_text()
    _, _, table = text.partition("## Django and Python")
    assert set(re.findall(r"\d\.\d+", table)) == set(named)


def test_the_tree_is_drawn_as_it_is():
    assert drawn() == {error.__name__: error.__mro__[1].__name__ for error in ERRORS}
    assert all(issubclass(error, SitemapsPlusError) for error in ERRORS)


def test_some_are_errors_of_django_and_python_too():
    assert issubclass(ConfigurationError, ImproperlyConfigured)
    assert issubclass(NotRegistered, LookupError)
    assert not issubclass(BuildError, ImproperlyConfigured)


def run(code: str) -> str:
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
        """A settings module may import from it, and a source be declared."""
        assert (
            run(
                "import django_sitemaps_plus as p\n"
                "for name in p.__all__: getattr(p, name)\n"
                "import sys; assert 'django_sitemaps_plus.models' not in sys.modules\n"
                "from django_sitemaps_plus import *\n"
                "@register('pages')\n"
                "class Pages(ViewSource):\n"
                "    views = ['home']\n"
                "print(*registry)"
            )
            == "pages"
        )

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
