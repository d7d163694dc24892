"""The S3 servers that tests start, used as Django's storages use them."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest
from botocore.exceptions import ClientError
from django.core.files.base import ContentFile
from django.core.files.storage import storages

from tests.support.servers.s3 import S3, start_seaweedfs

NAME = "products/1/0123.bin"


@pytest.fixture(params=["moto", "seaweedfs"])
def s3(request: pytest.FixtureRequest) -> S3:
    """Give each server in turn."""
    found: S3 = request.getfixturevalue(request.param)
    return found


@contextmanager
def opened(entry: dict[str, Any]) -> Iterator[Any]:
    """Give the storage of an entry of STORAGES; close its connections at the end."""
    storage = storages.create_storage(entry)
    try:
        yield storage
    finally:
        storage.connection.meta.client.close()


def test_what_is_stored_comes_back(s3):
    """Until it is deleted."""
    with opened(s3.storage()) as storage:
        assert storage.save(NAME, ContentFile(b"x" * 100_000)) == NAME
        with storage.open(NAME) as file:
            assert file.read() == b"x" * 100_000
        storage.delete(NAME)
        assert not storage.exists(NAME)


def test_buckets_are_apart(s3):
    """No test sees the objects of another."""
    with opened(s3.storage()) as one, opened(s3.storage()) as two:
        one.save(NAME, ContentFile(b"x"))
        assert not two.exists(NAME)


def test_a_name_that_must_be_new_is_taken_once(s3):
    """By a condition that the server itself checks."""
    bucket = s3.storage()["OPTIONS"]["bucket_name"]
    with s3.client() as client:
        new = {"Bucket": bucket, "Key": "x", "IfNoneMatch": "*"}
        client.put_object(**new, Body=b"first")
        with pytest.raises(ClientError, match="PreconditionFailed"):
            client.put_object(**new, Body=b"second")
        assert client.get_object(Bucket=bucket, Key="x")["Body"].read() == b"first"


def test_killed_it_starts_again_at_the_same_address():
    """With what it had stored."""
    with start_seaweedfs() as s3, opened(s3.storage()) as storage:
        storage.save(NAME, ContentFile(b"x"))
        s3.program.kill()
        with pytest.raises(Exception, match="Could not connect"):
            storage.exists(NAME)
        s3.start()
        with storage.open(NAME) as file:
            assert file.read() == b"x"
