"""T20: who may see and do what: every URL of ours, for every kind of user."""

import hashlib
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest
from django.contrib.admin import AdminSite, ModelAdmin
from django.contrib.auth.models import Permission, User
from django.db import connection, transaction
from django.test import Client, RequestFactory
from django.urls import URLPattern, get_resolver, include, path

from django_sitemaps_plus.admin import DashboardAdmin, ExclusionAdmin, SitemapMixin
from django_sitemaps_plus.admin.actions import ACTIONS
from django_sitemaps_plus.building.build import build
from django_sitemaps_plus.diagnostics.requests import exclude
from django_sitemaps_plus.models import (
    Dashboard,
    Delivery,
    EngineHost,
    Exclusion,
    Figure,
    Page,
    Section,
)
from tests.support.key_files import ENGINES
from tests.support.leaks import everything_in_database
from tests.support.testapp.models import Product
from tests.support.urls import urlpatterns as usual

from .tools.rights import ADMIN, ANYBODY, EXCLUSIONS, NOBODY, PUBLIC, ROLES, SEES, Row
from .tools.shop import DatedSource, add

pytestmark = pytest.mark.django_db

TOKEN = "x" * 32


class ProductAdmin(SitemapMixin, ModelAdmin):
    """What a project writes."""


class Desk(AdminSite):
    """Another site of the admin, with users of its own."""

    def has_permission(self, request: Any) -> bool:
        return super().has_permission(request) or request.user.username == "other"


def registered(admin_site: AdminSite) -> AdminSite:
    """Return a site of the admin that has all of ours."""
    admin_site.register(Dashboard, DashboardAdmin)
    admin_site.register(Exclusion, ExclusionAdmin)
    admin_site.register(Product, ProductAdmin)
    return admin_site


staff, desk = registered(AdminSite()), registered(Desk(name="desk"))

urlpatterns = [
    path("admin/", staff.urls),
    path("desk/", desk.urls),
    path("", include(usual)),
]


def walk(patterns: Any, space: str = "", at: str = "") -> Iterator[str]:
    for pattern in patterns:
        route = at + str(pattern.pattern)
        if isinstance(pattern, URLPattern):
            is_ours = pattern.callback.__module__.startswith("django_sitemaps_plus.")
            if is_ours or "/sitemaps_plus/" in route:
                yield space + (pattern.name or route.partition("/")[2])
        else:
            inner = f"{pattern.namespace}:" if pattern.namespace else ""
            yield from walk(pattern.url_patterns, space + inner, route)


def test_who_may_is_said_of_every_url():
    """And of every action, also of the lists of ours in the admin."""
    found = {*walk(get_resolver(__name__).url_patterns)}
    known = {f"{site}:{name}" for site in ("admin", "desk") for name in ADMIN}
    known |= PUBLIC.keys()
    assert sorted(found - known) == [], "new URLs: say in rights.py who may see them"
    assert sorted(known - found) == [], "URLs that have gone"
    acts = [row.path.split("/")[3] for row in ADMIN["sitemaps_plus_dashboard_act"]]
    assert acts == list(ACTIONS), "new actions: say in rights.py who may take them"
    request = RequestFactory().get("/")
    request.user = User(is_superuser=True)
    lists = [staff.get_model_admin(it) for it in (Dashboard, Exclusion)]
    actions = [set(it.get_actions(request)) for it in lists]
    assert actions == [set(), {"delete_selected"}], "new actions of a list"


@pytest.fixture
def rows(settings: Any, configure: Any, sections: Any) -> dict[str, int]:
    """Have something for every action to do; return the keys that paths name."""
    settings.ROOT_URLCONF = __name__
    parked = {"BACKEND": ENGINES["keyed"]["BACKEND"], "OPTIONS": {"key": "f" * 16}}
    engines = {**ENGINES, "parked": parked}
    configure(ENGINES=engines, ROBOTS={}, NOTIFY=True)
    add(range(1, 4))
    sections.register("products", DatedSource)
    build()
    Section.objects.filter(name="products").update(hold_reason="it would lose all")
    EngineHost.objects.create(
        site="default", engine="parked", host="example.com", parked_reason="bad key"
    )
    EngineHost.objects.create(site="default", engine="keyed", host="example.com")
    Delivery.objects.want("default", "keyed", ["https://example.com/products/p-1/"])
    Delivery.objects.update(dead_since="2026-01-01T00:00:00Z", error="not ours")
    Figure.objects.add("default", "products", {Figure.Kind.PAGES: 1})
    assert exclude(Product.objects.get(pk=1), by="ada")
    assert Page.objects.exclude(object="").exists()
    return {"excluded": 1, "free": 2, "exclusion": Exclusion.objects.get().pk}


def client_of(role: str) -> Client:
    """Return a client of such a user, which is asked for a token as browsers are."""
    client = Client(enforce_csrf_checks=True)
    if role != "anonymous":
        is_root = role == "superuser"
        username = "other" if role == "other" else "ada"
        user = User.objects.create(
            username=username, is_staff=role != "other", is_superuser=is_root
        )
        if not is_root:
            given = Permission.objects.filter(codename__in=ROLES[role])
            assert len(given) == len(ROLES[role])
            user.user_permissions.set(given)
        client.force_login(user)
    client.cookies["csrftoken"] = TOKEN
    return client


def tables() -> dict[str, str]:
    found = dict([it.split(": ", 1) for it in everything_in_database()])
    found.pop("django_session")
    return {name: hashlib.sha256(it.encode()).hexdigest() for name, it in found.items()}


@contextmanager
def undone() -> Iterator[list[str]]:
    """Undo what is done meanwhile; give the statements that may have changed rows."""
    statements: list[str] = []

    def note(execute: Any, sql: str, *rest: Any) -> Any:
        if not sql.lstrip("( ").startswith(("SELECT", "SAVEPOINT", "RELEASE")):
            statements.append(sql)
        return execute(sql, *rest)

    with transaction.atomic(), connection.execute_wrapper(note):
        yield statements
        transaction.set_rollback(True)


#: What is tried at each URL: with a token or without.
TRIES = [("GET", False), ("HEAD", False), ("POST", False), ("POST", True)]


class Matrix:
    """Tries rows as one kind of user, and notes what differs."""

    def __init__(self, role: str, keys: dict[str, int]) -> None:
        self.rights, self.is_admin = ROLES[role], role not in ("anonymous", "other")
        self.client, self.keys = client_of(role), keys
        self.role, self.count, self.bad = role, 0, list[str]()
        self.before = tables()

    def may(self, who: str) -> bool:
        """Return whether this user has what it takes."""
        if self.role == "superuser":
            return who != NOBODY
        ways = [set(filter(None, way.split("+"))) for way in who.split("|")]
        return any(way <= self.rights for way in ways)

    def changed(self) -> set[str]:
        return {name for name, it in tables().items() if self.before[name] != it}

    def try_all(self, site: str, row: Row, expected: Any) -> None:
        """Try a row in all ways."""
        address = f"/{site}{row.path.format(**self.keys)}"
        data = {k: str(v).format(**self.keys) for k, v in row.data.items()}
        for method, has_token in TRIES:
            headers = {"X-CSRFToken": TOKEN} if has_token else {}
            form = {"data": data} if method == "POST" else {}
            with undone() as statements:
                send = getattr(self.client, method.lower())
                answer = send(address, headers=headers, **form)
                changed = self.changed() if statements else set()
            status, changes = expected(row, method, has_token)
            said = (answer.status_code, changed)
            self.count += 1
            # Also to the login, and back from an action: within the same site.
            if not answer.headers.get("Location", address).startswith(f"/{site}"):
                self.bad.append(
                    f"{self.role}: {method} {address} leads to another site"
                )
            if said != (status, changes):
                words = "with" if has_token else "without"
                self.bad.append(
                    f"{self.role}: {method} {address} {data} {words} a token: "
                    f"{said}, not {(status, changes)}"
                )

    def in_admin(self, row: Row, method: str, has_token: bool) -> Any:
        """Return what a site of the admin answers, and the tables that change."""
        if method == "POST" and not has_token:
            return 403, set()
        if not self.is_admin:
            return 302, set()  # to the login
        who, status = row.writes if method == "POST" else row.reads
        if self.may(who):
            return status, row.changes if method == "POST" else set()
        # Who sees a list but may not act gets the list.
        is_list = row.path == EXCLUSIONS and method == "POST" and self.may(SEES)
        return (200 if is_list else 403), set()

    def elsewhere(self, row: Row, method: str, has_token: bool) -> Any:
        """Return what other URLs answer, which need no token: they refuse a POST."""
        if method == "POST":
            return row.writes[1], set()
        is_open = row.reads[0] == ANYBODY
        if is_open or (self.is_admin and self.may(row.reads[0])):
            return row.reads[1], set()
        return (401 if self.role == "anonymous" else 403), set()


@pytest.mark.parametrize("role", ROLES)
def test_matrix(role, rows, quiet, figures):
    """Each gets what the table says, and changes nothing else."""
    matrix = Matrix(role, rows)
    for row in [row for rows in ADMIN.values() for row in rows]:
        matrix.try_all("admin/", row, matrix.in_admin)
    for row in PUBLIC.values():
        # What asks for no right is tried by those who have the least and the most.
        if row.reads[0] or role in ("anonymous", "superuser"):
            matrix.try_all("", row, matrix.elsewhere)
    if role == "other":
        matrix.is_admin = True
        for row in [row for rows in ADMIN.values() for row in rows]:
            matrix.try_all("desk/", row, matrix.in_admin)
    figures("permissions", points=matrix.count, bad=matrix.bad, role=role)
    assert matrix.changed() == set()
