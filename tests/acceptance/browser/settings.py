"""The example project with a section that has every kind of entry."""

from tests.acceptance.settings import *  # noqa: F403

INSTALLED_APPS += ["tests.acceptance.browser"]  # noqa: F405
