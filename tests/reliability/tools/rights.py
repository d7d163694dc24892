"""Who may see and do what: kinds of users, and what each URL answers to whom."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any

from django_sitemaps_plus.admin.actions import ACTIONS
from tests.support.key_files import PATH

DASHBOARD = "sitemaps_plus/dashboard/"
EXCLUSIONS = "sitemaps_plus/exclusion/"

#: Kinds of users, by their permissions. Those of the objects are of three models.
VIEW = {"view_dashboard", "view_exclusion", "view_product"}
CUSTOM = {action.permission for action in ACTIONS.values()}
ROLES: dict[str, set[str]] = {
    "anonymous": set(),
    "staff without rights": set(),
    "view": VIEW,
    "add": {"add_exclusion", "add_product"},
    "change": {"change_exclusion", "change_product"},
    "delete": {"delete_exclusion", "delete_product"},
    "view and change": VIEW | {"change_exclusion", "change_product"},
    "view, add and change": VIEW | {"add_exclusion", "change_product"},
    "view and delete": VIEW | {"delete_exclusion", "delete_product"},
    "all actions alone": CUSTOM,
    **{f"{name} alone": {"view_dashboard", name} for name in sorted(CUSTOM)},
    "another model": {f"{verb}_label" for verb in ("view", "add", "change", "delete")},
    "superuser": {"everything"},
    "other": VIEW | CUSTOM | {"delete_exclusion", "add_exclusion", "change_product"},
}

# Who may: "+" is and, "|" is or.
ANYBODY, NOBODY = "", "nobody"


@dataclass(frozen=True, kw_only=True)
class Row:
    """What a URL answers, and to whom.

    Attributes:
        reads: the permissions that GET and HEAD need, and what they are answered.
        writes: the same of POST, which a page has that is only read as well: it refuses
            the method.
        changes: the tables that a POST with the right changes.
    """

    path: str
    reads: tuple[str, int] = (ANYBODY, 200)
    writes: tuple[str, int] = (ANYBODY, 405)
    data: dict[str, Any] = field(default_factory=dict)
    changes: set[str] = field(default_factory=set)


def page_of(path: str) -> Row:
    """Return a page of the dashboard."""
    right = "view_dashboard"
    return Row(path=f"{DASHBOARD}{path}", reads=(right, 200), writes=(right, 405))


def action(name: str, *tables: str, **data: Any) -> Row:
    """Return an action of the dashboard."""
    right = f"view_dashboard+{ACTIONS[name].permission}"
    query = "&".join([f"{key}={value}" for key, value in data.items()])
    return Row(
        path=f"{DASHBOARD}actions/{name}/?{query}",
        reads=(right, 200),
        writes=(right, 302),
        data=data,
        changes={"django_admin_log", *tables},
    )


SEES, DELETES = "view_exclusion|change_exclusion", "delete_exclusion"
LIFTED = {"sitemaps_plus_exclusion", "sitemaps_plus_change", "django_admin_log"}
CHOSEN = {"action": "delete_selected", "_selected_action": "{exclusion}"}
PANEL = "testapp/product/{free}/sitemap/"
PANEL_OF_EXCLUDED = "testapp/product/{excluded}/sitemap/"
SEES_PRODUCT = "view_product|change_product"

#: Of sites of the admin: the rows of each URL by its name, or by its path without one.
ADMIN: dict[str, list[Row]] = {
    "sitemaps_plus_dashboard_changelist": [page_of("")],
    "sitemaps_plus_dashboard_running": [page_of("running/")],
    "sitemaps_plus_dashboard_workers": [page_of("workers/")],
    "sitemaps_plus_dashboard_section": [page_of("section/?section=products")],
    "sitemaps_plus_dashboard_entries": [
        page_of("section/entries/?section=products&number=1")
    ],
    "sitemaps_plus_dashboard_csv": [
        page_of(f"section/csv/{kind}/?section=products")
        for kind in ("entries", "left-out")
    ],
    "sitemaps_plus_dashboard_problems": [page_of("problems/")],
    "sitemaps_plus_dashboard_url": [page_of("url/?url=/about/")],
    "sitemaps_plus_dashboard_submissions": [page_of("submissions/?engine=keyed&q=a")],
    "sitemaps_plus_dashboard_act": [
        action("refresh", section="products"),
        action("rebuild", "sitemaps_plus_page", section="products"),
        action("ask", "sitemaps_plus_section"),
        replace(action("audit"), changes=set()),  # where no worker listens
        action("release", "sitemaps_plus_section", section="products"),
        action("pause", "sitemaps_plus_enginehost", engine="keyed"),
        action("resume", "sitemaps_plus_enginehost", engine="parked"),
        action("retry", "sitemaps_plus_delivery", engine="keyed"),
        action("submit", "sitemaps_plus_delivery", urls="/about/"),
    ],
    "sitemaps_plus_exclusion_changelist": [
        Row(path=EXCLUSIONS, reads=(SEES, 200), writes=(SEES, 200)),
        # Who may not delete has no actions, and gets the list.
        Row(path=EXCLUSIONS, reads=(SEES, 200), writes=(SEES, 200), data=CHOSEN),
        Row(
            path=EXCLUSIONS,
            reads=(SEES, 200),
            writes=(f"view_exclusion+{DELETES}|change_exclusion+{DELETES}", 302),
            data=CHOSEN | {"post": "yes"},
            changes=LIFTED,
        ),
    ],
    "sitemaps_plus_exclusion_add": [
        Row(path=f"{EXCLUSIONS}add/", reads=(NOBODY, 200), writes=(NOBODY, 302))
    ],
    "sitemaps_plus_exclusion_history": [
        Row(
            path=f"{EXCLUSIONS}{{exclusion}}/history/",
            reads=(SEES, 200),
            writes=(SEES, 200),
        )
    ],
    "sitemaps_plus_exclusion_delete": [
        Row(
            path=f"{EXCLUSIONS}{{exclusion}}/delete/",
            reads=(DELETES, 200),
            writes=(DELETES, 302),
            data={"post": "yes"},
            changes=LIFTED,
        )
    ],
    "sitemaps_plus_exclusion_change": [
        Row(
            path=f"{EXCLUSIONS}{{exclusion}}/change/",
            reads=(SEES, 200),
            writes=(NOBODY, 302),
            data={"note": "another", "model": "a.b", "key": "5"},
        )
    ],
    "sitemaps_plus/exclusion/<path:object_id>/": [
        Row(path=f"{EXCLUSIONS}{{exclusion}}/", reads=("", 302), writes=("", 302))
    ],
    "testapp_product_sitemap": [
        Row(
            path=PANEL,
            reads=(SEES_PRODUCT, 200),
            writes=("change_product+add_exclusion", 302),
            data={"exclude": "1", "note": "sold out"},
            changes=LIFTED,
        ),
        Row(
            path=PANEL_OF_EXCLUDED,
            reads=(SEES_PRODUCT, 200),
            writes=(f"view_product+{DELETES}|change_product+{DELETES}", 302),
            data={"lift": "1"},
            changes=LIFTED,
        ),
    ],
}

#: Of the other URLs, which anybody may read but for those of monitors.
PUBLIC: dict[str, Row] = {
    "sitemaps_plus:index": Row(path="sitemap.xml"),
    "sitemaps_plus:index-alias": Row(path="sitemap_index.xml"),
    "sitemaps_plus:index-file": Row(path="sitemap.xml.gz"),
    "sitemaps_plus:index-more": Row(path="sitemaps-2.xml", reads=("", 404)),
    "sitemaps_plus:index-more-file": Row(path="sitemaps-2.xml.gz", reads=("", 404)),
    "sitemaps_plus:page": Row(path="sitemap-products-1.xml"),
    "sitemaps_plus:page-file": Row(path="sitemap-products-1.xml.gz"),
    "sitemaps_plus:moved": Row(path="sitemap-products.xml", reads=("", 301)),
    "sitemaps_plus:text-page": Row(path="sitemap-products-1.txt"),
    "sitemaps_plus:text-page-file": Row(path="sitemap-products-1.txt.gz"),
    "sitemaps_plus:text": Row(path="sitemap-products.txt"),
    "sitemaps_plus:text-file": Row(path="sitemap-products.txt.gz"),
    "sitemaps_plus:feed": Row(path="sitemap-products.rss"),
    "sitemaps_plus:feed-file": Row(path="sitemap-products.atom.gz"),
    "sitemaps_plus:robots": Row(path="robots.txt"),
    "sitemaps_plus:key-file": Row(path=PATH[1:]),
    "sitemaps_plus_html:site_map": Row(path="sitemap/"),
    "sitemaps_plus_html:section": Row(path="sitemap/products/"),
    "sitemaps_plus_html:part": Row(path="sitemap/products/1/"),
    "sitemaps_plus_monitoring:health": Row(
        path="monitoring/health/", reads=("view_dashboard", 503)
    ),
    "sitemaps_plus_monitoring:metrics": Row(
        path="monitoring/metrics/", reads=("view_dashboard", 200)
    ),
}
