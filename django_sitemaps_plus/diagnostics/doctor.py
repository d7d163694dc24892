"""The doctor: whether everything that sitemaps need fits together."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass, replace
from math import inf
from shlex import quote
from typing import Any
from urllib.parse import urlsplit

from django.conf import settings
from django.core.checks import ERROR, run_checks
from django.db import Error, connections
from django.db.migrations.executor import MigrationExecutor
from django.utils import translation
from django.utils.translation import gettext as _

from django_sitemaps_plus import cache, sites
from django_sitemaps_plus.conf import DEFAULT_SITE, Site, get_settings, setting_name
from django_sitemaps_plus.core.gzip import write_document
from django_sitemaps_plus.exceptions import ConfigurationError, SitemapsPlusError
from django_sitemaps_plus.executors.base import get_executor, usable_executor
from django_sitemaps_plus.models import INDEX, Page, Section, Worker, own_alias
from django_sitemaps_plus.models.base import atomic, contained
from django_sitemaps_plus.models.pages import note_damaged
from django_sitemaps_plus.models.sections import owning_site
from django_sitemaps_plus.notifications.configuration import get_engines
from django_sitemaps_plus.notifications.http import request
from django_sitemaps_plus.outages import in_one_line
from django_sitemaps_plus.publishing.tree import OWNER, public_tree
from django_sitemaps_plus.site_urls import INCLUDED, index_url
from django_sitemaps_plus.storage import delete_object, is_intact, store_object
from django_sitemaps_plus.storage.objects import list_objects, read_object
from django_sitemaps_plus.tracking.schedule import STATUS_INTERVAL

from .answers import look
from .asking import response_of
from .first_rows import look_at
from .problems import problems_of
from .status import SiteStatus, read_dashboard, section_status
from .words import age, age_of, span

#: Files of a site that are read.
MAX_FILES = 100

_INCLUDE = f"Put {INCLUDED} first in ROOT_URLCONF."
_CACHED_ROWS = "sitemaps_plus.W057"  # with it, all else that is seen may be long past
_NETWORK = "Look at DNS, TLS and firewalls."
_ROWS = "Mend the database and its migrations first."
_SWEEP = "See that they run, and run_sitemaps --once from cron beside them."
_SQLITE = (
    "Set DATABASES['default']['OPTIONS'] = {'transaction_mode': 'IMMEDIATE', "
    "'init_command': 'PRAGMA journal_mode=WAL;'}, or readers meet locks."
)

_MODE = {  # the last column of the answer has it
    "sqlite": "PRAGMA journal_mode",
    "postgresql": "SHOW transaction_isolation",
    "mysql": "SHOW VARIABLES LIKE 't%isolation'",
}


@dataclass(frozen=True, slots=True)
class Finding:
    """The result of a probe."""

    name: str
    ok: bool | None  # None: it is not set up, or works less well than it could
    text: str
    remedy: str = ""


Findings = Iterator[Finding]


def examine(*, is_online: bool = False) -> Findings:
    """Look at one thing after another; a probe that fails is a finding as well."""
    site = Site(DEFAULT_SITE, "http://localhost:8000")  # as of runserver
    with suppress(Exception):  # the probe of the origin says why
        site = sites.get_site()
    for name, (probe, remedy) in _PROBES.items():
        if probe is _online and not is_online:
            continue
        try:
            with contained():
                for finding in probe(site):
                    yield replace(finding, remedy="") if finding.ok else finding
        except Exception as error:  # noqa: BLE001 - whatever a client or project raises
            text = in_one_line(error)
            if isinstance(error, ConfigurationError):  # it says what to do itself
                text, _, own = text.partition(". ")
                remedy = own or remedy
            yield Finding(name, False, text, remedy)


def _mild(is_well: bool) -> bool | None:  # it is no fault in development
    return is_well or (None if settings.DEBUG else False)


def _settings(site: Site) -> Findings:
    options: Any = {"databases": [own_alias()], "include_deployment_checks": True}
    found = run_checks(tags=["sitemaps_plus"], **options)
    messages = [it for it in found if not it.is_silenced()]
    for message in messages:
        ok = False if message.level >= ERROR or message.id == _CACHED_ROWS else None
        yield Finding(f"settings: {message.id}", ok, message.msg, message.hint or "")
    if not messages:
        yield Finding("settings", True, "the system checks find nothing")


def _database(site: Site) -> Findings:
    connection = connections[own_alias()]
    vendor = connection.vendor
    with atomic(), connection.cursor() as cursor:
        cursor.execute(_MODE[vendor])
        mode = cursor.fetchone()[-1].lower()
    text, ok = f"{vendor}, {mode}", mode.replace("-", " ") == "read committed"
    remedy = "Leave isolation_level out of DATABASES, or builds fail in turn."
    if vendor == "sqlite":
        begin = str(getattr(connection, "transaction_mode", None) or "DEFERRED").upper()
        ok, remedy = mode in ("wal", "memory") and begin != "DEFERRED", _SQLITE
        text = f"{vendor}, journal_mode {mode}, transaction_mode {begin}"
    yield Finding("database", _mild(ok), text, remedy)


def _migrations(site: Site) -> Findings:
    executor = MigrationExecutor(connections[own_alias()])
    targets = executor.loader.graph.leaf_nodes("sitemaps_plus")
    missing = [migration.name for migration, _ in executor.migration_plan(targets)]
    text = f"not applied: {', '.join(missing)}" if missing else "all are applied"
    yield Finding("migrations", not missing, text, "Run manage.py migrate.")
    if missing:
        return

    # The same query reaches the database twice, unless a cache answers it.
    asked = list[str]()

    def note(execute: Callable[..., Any], sql: str, *others: Any) -> Any:
        asked.append(sql)
        return execute(sql, *others)

    rows = Section.objects.order_by("pk")[:1]
    with connections[rows.db].execute_wrapper(note):
        for _ in range(2):
            list(rows.all())
    if len(asked) < 2:
        text = "rows of sitemaps_plus come from a cache, and may be old"
        yield Finding("row cache", False, text, f"Except them: see {_CACHED_ROWS}.")


def _origin(site: Site) -> Findings:
    ok = sites.is_public(origin := sites.get_site().origin)
    text = origin if ok else f"search engines cannot reach {origin}"
    remedy = f"Set {sites.origin_setting(site)} to the public address of your site."
    yield Finding("origin", _mild(ok), text, remedy)


def _sections(site: Site) -> Findings:
    own = owning_site()
    met = {name: it.live_faults for name, it in look(own).items()}
    for status in section_status(own, met=met):
        name, quoted = f"section {status.section}", quote(status.section)
        # The probe of builds says what is late.
        problems = problems_of(SiteStatus(site=site, sections=[status]), max_age=inf)
        for problem in problems:
            yield Finding(name, False, problem.message, problem.cure)
        if not problems:
            build = f", then run manage.py build_sitemaps {quoted}"
            remedy = f"Correct it{'' if status.always_live else build}."
            ok, text, doubts = look_at(status, site)
            yield Finding(name, ok, text, remedy if ok is False else "")
            for part, doubt in doubts.items():
                yield Finding(f"{name} ({part})", None, *doubt)


def _storage(site: Site) -> Findings:
    if get_settings().storage is None and not settings.MEDIA_ROOT:
        yield Finding("storage", None, "no MEDIA_ROOT, so all is served live")
        return
    document = write_document([b"probe"])
    # The file lies beside the index: a prune deletes it if this process is killed.
    namespace, indexes = "", Section.objects.filter(name=INDEX)
    with suppress(Error), contained():  # another probe says why
        namespace = indexes.values_list("namespace", flat=True).first() or ""
    name = store_object(INDEX, 0, document, namespace)
    try:
        read_object(name, document.gzip_hash)
        ok = name in list_objects(INDEX, namespace).get(0, ())
    finally:
        delete_object(name)
    text = "a file was written, read, listed and deleted"
    remedy = "Choose a storage whose listdir() gives what was written."
    yield Finding("storage", ok, text if ok else f"it does not list {name}", remedy)
    tree = public_tree()
    if tree is not None and namespace and tree.owner() not in ("", namespace):
        text = f"{tree.root} has those of another database, and gets none of this one"
        remedy = f"Choose a storage of your own; if that is gone, delete {OWNER} in it."
        yield Finding("public names", None, text, remedy)


def _files(site: Site) -> Findings:
    """Read the first pages of each section, and note what others deleted.

    The look at the index, which follows, has builds store them again.
    """
    rows = Page.objects.active().filter(section__site=site.name).exclude(object="")
    first = rows.order_by("number", "section_id")[:MAX_FILES]
    lost = [page for page in first if not is_intact(page.object, page.gzip_hash)]
    for page in lost:
        note_damaged(page)
    if first:
        text = f"{len(first)} of {rows.count():,} were read"
        if lost:
            text = f"{len(lost)} of {len(first)} cannot be read"
        full = "" if cache.is_shared() else " --full"  # it finds which they are
        yield Finding("files", not lost, text, f"Run manage.py build_sitemaps{full}.")


def _cache(site: Site) -> Findings:
    alias, ok = get_settings().cache, cache.keeps() if cache.is_shared() else None
    how = "is shared between processes" if ok else "keeps nothing"
    remedy = "With several processes, use a shared cache with enough memory: Redis."
    text = f"{alias!r} {'belongs to one process' if ok is None else how}"
    yield Finding("cache", ok, text, remedy)


def workers(site: Site) -> Findings:
    """Yield whether workers are there, and answer; the dashboard shows it as well."""
    executor, seen = get_executor(), list[Worker]()
    with suppress(Error), contained():  # another probe says why
        seen = Worker.objects.seen()
    status = SiteStatus(site=site, workers=seen)
    gone = problems_of(status, language=translation.get_language())
    for it in gone:
        yield Finding("workers", False, f"{it.subject}: {it.message}", it.cure)
    words = _("last seen %(age)s")
    ages = {it: words % {"age": age(it.seen_at).replace("\xa0", " ")} for it in seen}
    if there := [f"{it} {ages[it]}" for it in seen if it.is_there]:
        yield Finding("workers", True, "; ".join(there))
    ended = [f"{it} {ages[it]}" for it in seen if it.has_ended]
    if not executor.is_listening:
        if not there and not gone:
            none = _("No workers: commands alone build and notify.")
            yield Finding("workers", None, " ".join([none, *ended]))
        return
    for fault, remedy in executor.schedule_faults():
        yield Finding("schedule", None, fault, remedy)
    if (faults := executor.worker_faults()) is not None:
        yield from (found := [Finding("workers", False, *it) for it in faults])
        if not found:
            answers = _("Workers that answer: %s") % ", ".join(executor.workers())
            yield Finding("workers", True, answers)
    elif not there:
        unknown = _("Not known: these workers cannot be asked.")
        yield Finding("workers", None, " ".join([unknown, *ended]), _SWEEP)


def _builds(site: Site) -> Findings:
    [status] = read_dashboard([site])
    oks = {"section_overdue": _mild(False), "index_failed": False}
    oks["index_incomplete"] = None  # the sections are above
    problems = [it for it in problems_of(status) if it.id in oks]
    for it in problems:
        yield Finding(f"builds {it.subject}", oks[it.id], it.message, it.cure)
    if not any(it.registered and not it.live for it in status.sections):
        yield Finding("builds", None, "none, so all is served live")
    elif not problems:
        ok = None if any(it.fault for it in status.sections) else True
        yield Finding("builds", ok, "no section has waited for 25 hours")

    looked, every = dict[float, str](), usable_executor().sweep_seconds
    for one in status.sections:
        if one.last_build_at and not (one.fault or one.always_live):
            looked[age_of(one.last_build_at)] = one.section
    is_idle = not any(it.building for it in status.sections)
    is_idle &= any(it.is_there for it in status.workers)
    age = max(looked, default=0)
    if every and is_idle and age > 3 * every + STATUS_INTERVAL.total_seconds():
        text = f"beat asks every {every:g} s, and {looked[age]} was last looked at "
        text += f"{span(age)} ago"
        yield Finding("schedule", None, text, "Start celery -A PROJECT beat.")


def _engines(site: Site) -> Findings:
    engines, [found] = get_engines(), read_dashboard([site])
    silence, troubled = found.silence, set[str]()
    for it in problems_of(found):
        if it.id == "audit_findings":  # it finds what engines would
            yield Finding("audit", None, it.message, it.cure)
        elif it.id.startswith("engine_"):
            ok = False if it.level == "error" else None
            yield Finding(f"engine {it.subject}", ok, it.message, it.cure)
            troubled.add(it.subject)
    for status in found.engines:
        if status.engine in engines and status.engine not in troubled:
            text = f"{status.waiting:,} targets wait"
            remedy = "It is tried again; notify_search_engines --retry does so now."
            for why in status.failing.values():
                text = f"its last request failed: {why.rstrip('.')}; {text}"
            if silence:
                text += f"; it is not notified: {silence}"
                remedy = f"If it should be, set {setting_name('NOTIFY')} to True."
            ok = None if silence or status.failing else True
            yield Finding(f"engine {status.engine}", ok, text, remedy)


def _index(site: Site) -> Findings:
    answer = look(site).get(site.name)
    if answer is None:
        yield Finding("index", None, "nobody could ask for it")
        return
    text = f"{answer.url or 'the index'} answers {answer.status or 'nothing'}"
    if answer.status and not answer.is_ours:
        text += ", from another view"
    words = answer.said or ("robots.txt disallows it" if answer.is_disallowed else "")
    text += f": {words}" if words else ""
    problems = problems_of(SiteStatus(site=site, answer=answer))
    remedy = problems[0].remedy if problems else _INCLUDE
    if answer.url and not 0 < answer.status < 500:
        remedy = "Mend what is above; the log says more."
    ok = None if answer.is_empty else answer.is_well and answer.is_ours
    yield Finding("index", None if ok and answer.is_disallowed else ok, text, remedy)


def _robots(site: Site) -> Findings:
    url, line = f"{site.origin}/robots.txt", f"Sitemap: {index_url(site)}"
    ok: bool | None = line.encode() in response_of(url, site).getvalue()
    text = f"{url} {'names' if ok else 'does not name'} the index"
    if get_settings().robots is None:
        ok = ok or None  # a web server may have one of its own
    remedy = f"Set {setting_name('ROBOTS')} = {{}}, or add to your own: {line}"
    yield Finding("robots.txt", ok, text, remedy)


def _key_files(site: Site) -> Findings:
    for engine in get_engines().values():
        for name, content in engine.files(site).items():
            url = f"{site.origin}{site.script_prefix}{name}"
            response = response_of(url, site)
            ok = response.getvalue() == content.encode()
            text = f"it answers {response.status_code}{'' if ok else ', without key'}"
            yield Finding(f"key file of {engine.name}", ok, text, _INCLUDE)


def _online(site: Site) -> Findings:
    engines = get_engines().values()
    asked = {f"engine {it.name}": it.endpoint for it in engines if it.endpoint}
    for name, url in {"index": index_url(site), **asked}.items():
        try:
            status = request("HEAD", url).status
            ok = status == 200 or name != "index"  # engines refuse an empty request
            text = f"{urlsplit(url).hostname} answers {status}"
        except SitemapsPlusError as error:
            ok, text = False, in_one_line(error)
        yield Finding(f"online: {name}", ok, text, _NETWORK)


# The probes in their order, each with what to do where it fails.
_PROBES: dict[str, tuple[Callable[[Site], Findings], str]] = {
    "settings": (_settings, "Run manage.py check --tag sitemaps_plus."),
    "database": (_database, "Start the database, and compare DATABASES."),
    "migrations": (_migrations, _ROWS),
    "origin": (_origin, _ROWS),
    "storage": (_storage, "Let this user write there, or set MEDIA_ROOT."),
    "files": (_files, "Let this user read there."),
    "cache": (_cache, "Start the cache, and compare CACHES."),
    "sections": (_sections, _ROWS),
    "index": (_index, _INCLUDE),
    "robots.txt": (_robots, _INCLUDE),
    "key files": (_key_files, _INCLUDE),
    "workers": (workers, "Start the broker, and compare CELERY_BROKER_URL."),
    "builds": (_builds, _ROWS),
    "engines": (_engines, _ROWS),
    "online": (_online, _NETWORK),
}
