"""Mistakes of who may see and do what in the admin, and of what is shown there."""

from __future__ import annotations

from .planting import mutant

_MATRIX = "tests/reliability/test_permissions.py::test_matrix"


@mutant("admin.actions:allowed_actions", f"{_MATRIX}[view]")
def action_without_its_permission(allowed_actions, user):
    """Who sees the dashboard may take every action."""
    from django_sitemaps_plus.admin.actions import ACTIONS

    return dict(ACTIONS)


@mutant("admin.dashboard:DashboardAdmin.has_view_permission", f"{_MATRIX}[add]")
def dashboard_without_permission(has_view_permission, admin, request, obj=None):
    """All staff see the dashboard."""
    return True


@mutant("admin.objects:ExclusionAdmin.has_delete_permission", f"{_MATRIX}[view]")
def exclusion_deleted_without_permission(has_permission, admin, request, obj=None):
    """All staff may delete exclusions."""
    return True


@mutant("admin.panel:_may_exclude", f"{_MATRIX}[change]")
def object_excluded_without_permission(may_exclude, model_admin, request, row):
    """Who may change an object may exclude it."""
    return model_admin.has_change_permission(request, row)


@mutant("diagnostics.status:read_dashboard", f"{_MATRIX}[view]")
def page_that_writes(read_dashboard, sites):
    """To look at the dashboard changes a row."""
    from django_sitemaps_plus.models import Section

    Section.objects.update(origin="")
    return read_dashboard(sites)


@mutant(
    "diagnostics.metrics:_label",
    "tests/reliability/test_hostile_admin.py::test_programs_get_what_is_no_page",
)
def line_of_metrics_forged(label, name, text):
    """A label of a metric may end its line."""
    return label(name, text).replace("\\n", "\n")
