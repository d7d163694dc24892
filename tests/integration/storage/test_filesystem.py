"""Files that are there whole or not at all."""

from __future__ import annotations

import errno
import os
import stat
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from django.core.files.base import ContentFile

from django_sitemaps_plus.storage import AtomicFileSystemStorage


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
        """Whatever its size; directories are made as deep as the name goes."""
        storage = AtomicFileSystemStorage(location=tmp_path / "a")
        for size in (0, 200_001):
            name = storage.save(f"b/c/{size}.bin", ContentFile(b"x" * size))
            assert name == f"b/c/{size}.bin"
            assert (tmp_path / "a" / name).stat().st_size == size

    def test_a_name_that_is_taken_gets_another(self, tmp_path):
        """As Django's storages do, unless told to overwrite."""
        storage = AtomicFileSystemStorage(location=tmp_path)
        names = [storage.save("x.xml", ContentFile(text)) for text in (b"1", b"2")]
        assert len(set(names)) == 2
        assert (tmp_path / names[0]).read_bytes() == b"1"
        assert storage.exists(names[1])

    def test_overwriting_replaces_the_whole(self, tmp_path):
        """Who has the old file open keeps it, and nothing of it is in the new one."""
        storage = AtomicFileSystemStorage(location=tmp_path, allow_overwrite=True)
        storage.save("x.xml", ContentFile(b"long long long"))
        with (tmp_path / "x.xml").open("rb") as reader:
            assert storage.save("x.xml", ContentFile(b"short")) == "x.xml"
            assert reader.read() == b"long long long"
        assert (tmp_path / "x.xml").read_bytes() == b"short"

    def test_names_outside_are_refused(self, tmp_path):
        """A name cannot leave the directory."""
        from django.core.exceptions import SuspiciousOperation

        storage = AtomicFileSystemStorage(location=tmp_path / "inside")
        with pytest.raises(SuspiciousOperation):
            storage.save("../outside.xml", ContentFile(b"x"))
        assert files_in(tmp_path) == []


class TestPermissions:
    def test_others_may_read_files_whatever_the_umask(self, tmp_path, umask, settings):
        """A web server is another user than the one who builds."""
        settings.FILE_UPLOAD_PERMISSIONS = None
        storage = AtomicFileSystemStorage(location=tmp_path)
        storage.save("x.xml", ContentFile(b"x"))
        assert mode_of(tmp_path / "x.xml") == 0o644

    def test_the_setting_of_files_is_followed(self, tmp_path, umask, settings):
        """FILE_UPLOAD_PERMISSIONS, or the storage's own option."""
        settings.FILE_UPLOAD_PERMISSIONS = 0o640
        AtomicFileSystemStorage(location=tmp_path).save("a", ContentFile(b"x"))
        own = AtomicFileSystemStorage(location=tmp_path, file_permissions_mode=0o600)
        own.save("b", ContentFile(b"x"))
        assert mode_of(tmp_path / "a") == 0o640
        assert mode_of(tmp_path / "b") == 0o600

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
        """Every new directory has it, and none that was there before."""
        settings.FILE_UPLOAD_DIRECTORY_PERMISSIONS = 0o751
        old = tmp_path / "old"
        old.mkdir()
        old.chmod(0o700)
        storage = AtomicFileSystemStorage(location=old)
        storage.save("new/newer/x.xml", ContentFile(b"x"))
        assert mode_of(old) == 0o700
        assert mode_of(old / "new") == mode_of(old / "new" / "newer") == 0o751


class FailingContent(ContentFile):  # type: ignore[type-arg]
    """A content that breaks off."""

    def chunks(self, chunk_size: int | None = None) -> Iterator[bytes]:
        """Yield some, then fail."""
        yield b"half a page"
        raise OSError(errno.EIO, "the source broke off")


class TestFailures:
    @pytest.mark.parametrize("call", ["fsync", "replace", "chmod"])
    def test_nothing_is_left_behind(self, tmp_path, monkeypatch, call):
        """Neither a temporary file nor half of the one that was meant."""
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

    def test_a_content_that_breaks_off(self, tmp_path):
        """What was read so far is no file."""
        storage = AtomicFileSystemStorage(location=tmp_path)
        with pytest.raises(OSError, match="broke off"):
            storage.save("x.xml", FailingContent(b""))
        assert files_in(tmp_path) == []

    @pytest.fixture
    def flushing_fails(self, monkeypatch: Any) -> Callable[[int], None]:
        """Let directories, and no files, not be flushed for a reason."""
        real = os.fsync

        def fail_with(code: int) -> None:
            def fail(descriptor: int) -> None:
                if stat.S_ISDIR(os.fstat(descriptor).st_mode):
                    raise OSError(code, os.strerror(code))
                real(descriptor)

            monkeypatch.setattr(os, "fsync", fail)

        return fail_with

    def test_a_directory_that_cannot_be_flushed_is_an_error(
        self, tmp_path, flushing_fails
    ):
        """The name would not survive a power cut, so save() must not say it did."""
        flushing_fails(errno.EIO)
        storage = AtomicFileSystemStorage(location=tmp_path)
        with pytest.raises(OSError, match=os.strerror(errno.EIO)):
            storage.save("x.xml", ContentFile(b"x"))

    def test_a_file_system_that_flushes_no_directories(self, tmp_path, flushing_fails):
        """Some shares say that there is nothing to flush; nobody can do more."""
        flushing_fails(errno.EINVAL)
        AtomicFileSystemStorage(location=tmp_path).save("a/x.xml", ContentFile(b"x"))
        assert files_in(tmp_path) == ["a/x.xml"]

    def test_file_then_name_then_directories_are_flushed(self, tmp_path, monkeypatch):
        """In this order, or a crash could leave a name without its content."""
        done: list[str] = []
        real_fsync, real_replace = os.fsync, os.replace

        def fsync(descriptor: int) -> None:
            done.append(Path(os.readlink(f"/proc/self/fd/{descriptor}")).name)
            real_fsync(descriptor)

        def replace(source: Any, target: Any) -> None:
            done.append(f"-> {Path(target).name}")
            real_replace(source, target)

        monkeypatch.setattr(os, "fsync", fsync)
        monkeypatch.setattr(os, "replace", replace)
        AtomicFileSystemStorage(location=tmp_path).save("a/b/x", ContentFile(b"x"))
        assert sorted(done[:2]) == ["a", tmp_path.name]
        assert done[2].startswith(".")
        assert done[3:] == ["-> x", "b"]
