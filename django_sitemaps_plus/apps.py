"""The app: system checks, then the sections of the project."""

from __future__ import annotations

from functools import partial
from typing import Any

from django.apps import AppConfig
from django.core.checks import CheckMessage, Tags
from django.core.checks import register as register_check
from django.utils.translation import gettext_lazy as _


def _check(kind: str, **given: Any) -> list[CheckMessage]:
    """Run the checks of a kind, which a process that runs none does not import."""
    from . import checks

    return [message for check in getattr(checks, kind) for message in check(**given)]


# Objects of this module: Django would run one that is made anew a second time.
_CHECKS = partial(_check, "CHECKS")
_DATABASE_CHECKS = partial(_check, "DATABASE_CHECKS")
_DEPLOY_CHECKS = partial(_check, "DEPLOY_CHECKS")


def _look(**given: Any) -> None:
    """Ask Django for the index after a build: what was published changes answers."""
    from .diagnostics.answers import look_now_and_then
    from .sites import get_site

    look_now_and_then(get_site())


class SimpleSitemapsPlusConfig(AppConfig):
    """The app without autodiscovery, for projects that register sections elsewhere."""

    name = "django_sitemaps_plus"
    label = "sitemaps_plus"
    verbose_name = _("Sitemaps")
    default_auto_field = "django.db.models.BigAutoField"
    discovers = False  # whether ``sitemaps`` of every app is imported

    def ready(self) -> None:
        """Register the checks and the sections, then connect their models."""
        from . import receivers
        from .adoption import adopt
        from .building.report import BuildReport
        from .conf import get_settings
        from .registry import autodiscover, registry
        from .signals import build_finished

        register_check(_CHECKS, "sitemaps_plus")
        register_check(_DATABASE_CHECKS, "sitemaps_plus", Tags.database)
        register_check(_DEPLOY_CHECKS, "sitemaps_plus", deploy=True)
        if self.discovers:
            autodiscover()
        if get_settings().contrib_sitemaps is not None:
            registry.pending = adopt
        receivers.connect()
        # A build counts the entries for receivers of any sender, and so not for this.
        build_finished.connect(_look, sender=BuildReport)
        registry.listeners.append(receivers.connect)


class SitemapsPlusConfig(SimpleSitemapsPlusConfig):
    """The app as INSTALLED_APPS names it: it imports ``sitemaps`` of every app."""

    default = discovers = True
