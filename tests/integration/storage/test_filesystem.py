"""Files that are there whole or not at all."""

import errno
import os
import stat
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from django.core.exceptions import SuspiciousOperation
from django.core.files.base import ContentFile

from django_sitemaps_plus.storage import AtomicFileSystemStorage, filesystem


def files_in(directory: Path) -> list[str]:
    return sorted(
        str(path.relative_to(directory))
        for path in directory.rglob("*")
        if path.is_file()
    )


def mode_of(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


@pytest.fixture(params=[0o022, 0o077, 0o000])
def umask(request: Any) -> Iterator[int]:
    """Have one of several umasks."""
    before = os.umask(request.param)
    yield request.param
    os.umask(before)


class TestSave:
    def test_content_is_what_was_given(self, tmp_path):
        storage = AtomicFileSystemStorage(location=tmp_path / "a")
        for size in (0, 200_001):
            name = storage.save(f"b/c/{size}.bin", ContentFile(b"x" * size))
            assert name == f"b/c/{size}.bin"
            assert (tmp_path / "a" / name).stat().st_size == size

    def test_a_name_that_is_taken_gets_another(self, tmp_path):
        """As Django's storages do; one that overwrites replaces the whole."""
        storage = AtomicFileSystemStorage(location=tmp_path)
        names = [storage.save("x.xml", ContentFile(text)) for text in (b"11", b"2")]
        assert len(set(names)) == 2
        assert (tmp_path / names[0]).read_bytes() == b"11"
        assert storage.exists(names[1])
        storage = AtomicFileSystemStorage(location=tmp_path, allow_overwrite=True)
        with (tmp_path / "x.xml").open("rb") as reader:
            assert storage.save("x.xml", ContentFile(b"3")) == "x.xml"
            assert reader.read() == b"11"
        assert (tmp_path / "x.xml").read_bytes() == b"3"

    def test_names_outside_are_refused(self, tmp_path):
        storage = AtomicFileSystemStorage(location=tmp_path / "inside")
        with pytest.raises(SuspiciousOperation):
            storage.save("../outside.xml", ContentFile(b"x"))
        assert files_in(tmp_path) == []


class TestPermissions:
    def test_files_may_be_read_by_a_web_server_or_as_settings_say(
        self, tmp_path, umask, settings
    ):
        """Which is another user than the one who builds, whatever the umask."""

        def mode(given: int | None, **options: int) -> int:
            settings.FILE_UPLOAD_PERMISSIONS = given
            storage = AtomicFileSystemStorage(location=tmp_path, **options)
            return mode_of(tmp_path / storage.save("x.xml", ContentFile(b"x")))

        assert mode(None) == 0o644
        assert mode(0o640) == 0o640
        assert mode(0o640, file_permissions_mode=0o600) == 0o600

    @pytest.mark.parametrize(
        ("files", "least"), [(None, 0o755), (0o640, 0o750), (0o600, 0o700)]
    )
    def test_who_may_read_files_reaches_them(
        self, tmp_path, umask, settings, files, least
    ):
        """New directories let them in; what is around the storage is left alone."""
        settings.FILE_UPLOAD_PERMISSIONS = files
        settings.FILE_UPLOAD_DIRECTORY_PERMISSIONS = None
        location = tmp_path / "around" / "new"
        storage = AtomicFileSystemStorage(location=location)
        storage.save("newer/x.xml", ContentFile(b"x"))
        for path in (location, location / "newer"):
            assert mode_of(path) == least | 0o777 & ~umask
        assert mode_of(tmp_path / "around") == 0o777 & ~umask

    def test_the_setting_of_directories_is_followed(self, tmp_path, umask, settings):
        settings.FILE_UPLOAD_DIRECTORY_PERMISSIONS = 0o751
        old = tmp_path / "old"
        old.mkdir()
        old.chmod(0o700)
        storage = AtomicFileSystemStorage(location=old)
        storage.save("new/newer/x.xml", ContentFile(b"x"))
        assert mode_of(old) == 0o700
        assert mode_of(old / "new") == mode_of(old / "new" / "newer") == 0o751


class TestFailures:
    @pytest.mark.parametrize("call", ["fsync", "replace", "chmod"])
    def test_nothing_is_left_behind(self, tmp_path, monkeypatch, call):
        storage = AtomicFileSystemStorage(location=tmp_path, allow_overwrite=True)
        storage.save("x.xml", ContentFile(b"before"))

        def fail(*args: Any, **kwargs: Any) -> None:
            raise OSError(errno.ENOSPC, "No space left on device")

        with monkeypatch.context() as patch:
            patch.setattr(os, call, fail)
            with pytest.raises(OSError, match="No space left"):
                storage.save("x.xml", ContentFile(b"after"))
        assert files_in(tmp_path) == ["x.xml"]
        assert (tmp_path / "x.xml").read_bytes() == b"before"

    def test_a_directory_that_cannot_be_flushed(self, tmp_path, monkeypatch):
        """The name would not survive a power cut, so it must not seem to be saved.

        Some shares say that there is nothing to flush; nobody can do more.
        """
        real = os.fsync
        codes = [errno.EIO]

        def fail(descriptor: int) -> None:
            if stat.S_ISDIR(os.fstat(descriptor).st_mode):
                raise OSError(codes[0], os.strerror(codes[0]))
            real(descriptor)

        monkeypatch.setattr(os, "fsync", fail)
        storage = AtomicFileSystemStorage(location=tmp_path)
        with pytest.raises(OSError, match=os.strerror(errno.EIO)):
            storage.save("x.xml", ContentFile(b"x"))
        codes[0] = errno.EINVAL
        assert storage.save("a/y.xml", ContentFile(b"x")) == "a/y.xml"


def test_windows_flushes_no_directories(tmp_path, monkeypatch):
    opened: list[Any] = []

    def open_file(path: Any, *args: Any) -> int:
        opened.append(path)
        return os.open(path, *args)

    # Only the storage gets the ``os`` of Windows: pathlib could make no path of it.
    names = {name: getattr(os, name) for name in dir(os)}
    windows = SimpleNamespace(**{**names, "name": "nt", "open": open_file})
    monkeypatch.setattr(filesystem, "os", windows)
    AtomicFileSystemStorage(location=tmp_path).save("a/x.xml", ContentFile(b"new"))
    assert (tmp_path / "a" / "x.xml").read_bytes() == b"new"
    assert not [path for path in opened if path.is_dir()]
