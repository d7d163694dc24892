"""What lies in the storage, whoever knows of it."""

from __future__ import annotations

import re
from contextlib import suppress
from datetime import datetime
from pathlib import Path

from django.core.files.storage import FileSystemStorage, Storage

from django_sitemaps_plus.exceptions import StoreError
from django_sitemaps_plus.storage.filesystem import TEMPORARY
from django_sitemaps_plus.storage.objects import directory_name, get_storage, words_of

# Other files may share the storage: only what is named like an object is one.
_OBJECT = re.compile(r"[0-9a-f]{16}-[0-9a-f]{16}.*\.xml.*")
_PAGE = re.compile(r"[0-9]{1,9}")


def list_pages(section: str) -> list[int]:
    """Return the numbers of all pages of a section that have a directory.

    Raises:
        StoreError: the storage failed, or cannot list.
    """
    directories, _ = _list(get_storage(), directory_name(section))
    return sorted([int(name) for name in directories if _PAGE.fullmatch(name)])


def list_objects(section: str, number: int) -> list[str]:
    """Return the names of all objects of a page.

    Raises:
        StoreError: the storage failed, or cannot list.
    """
    directory = f"{directory_name(section)}/{number}"
    _, files = _list(get_storage(), directory)
    return [f"{directory}/{name}" for name in files if _OBJECT.fullmatch(name)]


def remove_empty_directory(section: str, number: int) -> None:
    """Remove the directory of a page that is gone; one with files in it stays."""
    storage = get_storage()
    if isinstance(storage, FileSystemStorage):
        with suppress(OSError):
            Path(storage.path(f"{directory_name(section)}/{number}")).rmdir()


def remove_temporary_files(section: str, number: int, before: datetime) -> int:
    """Remove what writers that were killed have left of files never finished.

    Args:
        section: name of the section.
        number: of the page whose directory is cleared.
        before: files that were changed later stay: their writer may be alive.

    Returns:
        How many there were.

    Raises:
        StoreError: one cannot be removed.
    """
    storage = get_storage()
    if not isinstance(storage, FileSystemStorage):
        return 0
    directory = Path(storage.path(f"{directory_name(section)}/{number}"))
    return remove_old_temporaries(directory, before)


def remove_old_temporaries(directory: Path, before: datetime) -> int:
    """Remove the temporary files of a directory that are older than a moment.

    Raises:
        StoreError: one cannot be removed.
    """
    removed, failures = 0, list[OSError]()
    for path in directory.glob(f"{TEMPORARY}*"):
        try:
            removed += _remove_old(path, before)
        except FileNotFoundError:
            continue  # gone by its writer, or by another prune
        except OSError as error:
            failures.append(error)
    if failures:
        raise StoreError(
            f"unfinished files in {directory} could not be removed: "
            f"{words_of(failures[0])}"
        ) from failures[0]
    return removed


def _remove_old(path: Path, before: datetime) -> bool:
    found = path.stat()
    # A link has the time of its object; when it was made is the time of change.
    is_old = max(found.st_mtime, found.st_ctime) < before.timestamp()
    if is_old:
        path.unlink()
    return is_old


def _list(storage: Storage, directory: str) -> tuple[list[str], list[str]]:
    try:
        return storage.listdir(directory)
    except FileNotFoundError:
        return [], []
    except NotImplementedError as error:
        raise StoreError(
            f"the storage {type(storage).__name__} cannot list what it has (listdir), "
            "so nobody knows which of its files are still needed"
        ) from error
    except Exception as error:  # whatever the client of its service raises
        raise StoreError(
            f"{directory}/ could not be listed: {words_of(error)}"
        ) from error
