"""An admin of its own name, and its users."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from django.contrib.auth.models import Permission, User
from django.test import Client

from . import desk


@pytest.fixture
def urls(settings: Any) -> None:
    """Have the admin where objects can be edited."""
    settings.ROOT_URLCONF = desk.__name__


@pytest.fixture
def user(client: Client) -> Callable[..., User]:
    """Return what logs in a user of the admin with permissions."""

    def user(*permissions: str, **fields: Any) -> User:
        found, _ = User.objects.get_or_create(
            username="ada", is_staff=True, defaults=fields
        )
        found.user_permissions.set(Permission.objects.filter(codename__in=permissions))
        client.force_login(found)
        return found

    return user


@pytest.fixture
def editor(user: Any) -> User:
    """Log in a user who may do everything."""
    return user(is_superuser=True)
