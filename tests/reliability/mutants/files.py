"""Mistakes of what writes files, names them and deletes them."""

from __future__ import annotations

import os
import shutil
import stat
import time
from contextlib import contextmanager

from .planting import mutant

_SWEEP = "tests/reliability/test_kill_sweep.py::test_killed_at_any_step"
_CRASHES = "tests/reliability/test_crash_states.py"
_POWER_CUT = f"{_CRASHES}::test_power_cut_at_any_step"
_TORN = "tests/reliability/test_torn_reads.py"
_SHOWN = "tests/integration/publishing/test_names.py"


@mutant(
    "building.store:store_page", f"{_SWEEP}[edits_and_a_split-options1]", is_slow=True
)
def deleted_before_saved(store_page, page, *args, **kwargs):
    """The old object is deleted before the new one is saved."""
    from django_sitemaps_plus.storage import delete_object

    if page.object:
        delete_object(page.object)
    return store_page(page, *args, **kwargs)


@mutant(
    "building.flip:flip",
    # Readers met it by chance only.
    "tests/integration/diagnostics/test_prune.py::TestGrace",
)
def old_objects_deleted_at_once(flip, results):
    """Old objects are deleted as soon as no row points to them."""
    from django_sitemaps_plus.storage import delete_object

    before = {page.pk: page.object for page, _ in results}
    flipped = flip(results)
    for page, new in flipped:
        if before[page.pk] not in ("", new.object):
            delete_object(before[page.pk])
    return flipped


@mutant(
    "storage.filesystem:AtomicFileSystemStorage._save",
    f"{_SWEEP}[first_build-options0]",
    is_slow=True,
)
def final_name_written(save, storage, name, content):
    """Objects are written under their final name, as Django's own storage does."""
    from django.core.files.storage import FileSystemStorage

    return FileSystemStorage._save(storage, name, content)


class _Unflushed:
    """The module ``os``, but for flushing files."""

    def __getattr__(self, name):
        return getattr(os, name)

    def fsync(self, descriptor):
        if stat.S_ISDIR(os.fstat(descriptor).st_mode):
            os.fsync(descriptor)


@mutant("storage.filesystem:os", _CRASHES)
def files_not_flushed(module):
    """Files are not flushed."""
    return _Unflushed()


@mutant("storage.filesystem:_sync_directory", _CRASHES)
def directories_not_flushed(sync, path):
    """Directories are not flushed."""


@mutant(
    "storage.filesystem:deferred_flush",
    "tests/reliability/test_storage_faults.py::test_files",
    is_slow=True,
)
@contextmanager
def flush_error_not_named(deferred_flush):
    """A directory that cannot be flushed ends a build with a bare OSError."""
    from django_sitemaps_plus.exceptions import StoreError

    try:
        with deferred_flush():
            yield
    except StoreError as error:
        raise error.__cause__ or error from None


@mutant("publishing.tree:make_directory", _CRASHES, is_slow=True)
def public_directory_not_flushed(make_directory, storage, directory):
    """A power cut may take the new public directory away."""
    directory.mkdir(parents=True, exist_ok=True)


@mutant(
    "storage.filesystem:flush_directory",
    f"{_POWER_CUT}[gzip-edits_and_a_split-options2]",
)
def public_names_not_flushed(flush_directory, path):
    """The public directory is not flushed before the index names a page."""
    if path.name != "public":
        flush_directory(path)


@mutant(
    "publishing.sync:_show",
    f"{_POWER_CUT}[gzip-deletions_and_merges-options3]",
    is_slow=True,
)
def empty_page_hidden_early(show, *args, hides, **kwargs):
    """The public name of an empty page goes while the index still lists it."""
    return show(*args, hides=True, **kwargs)


@mutant(
    "building.plan.split:show_when_committed",
    f"{_SWEEP}[edits_and_a_split-options1]",
    is_slow=True,
)
def pieces_without_names(show_when_committed, pages):
    """The index is public before the pieces of a split."""


@mutant("publishing.tree:PublicTree.shows", f"{_POWER_CUT}[gzip-a_new_tree-options0]")
def new_tree_begins_with_index(shows, tree, name, published_at=None):
    """A new public tree begins with its index."""
    return published_at is None or shows(tree, name, published_at)


@mutant(
    "publishing.tree:replacing",
    "tests/integration/publishing/test_names.py"
    "::test_a_reader_keeps_the_file_that_it_has_opened",
)
@contextmanager
def public_file_written_in_place(replacing, target):
    """Public files are written in place."""
    temporary = target.with_name(".unfinished")
    yield temporary
    shutil.copyfile(temporary, target)
    temporary.unlink()


@mutant("publishing.tree:replacing", f"{_TORN}::test_public_files", is_slow=True)
@contextmanager
def public_file_deleted_first(replacing, target):
    """A public file is deleted before the new one takes its name."""
    with replacing(target) as temporary:
        yield temporary
        target.unlink(missing_ok=True)
        time.sleep(0.02)  # or a reader meets the gap only now and then


@mutant(
    "publishing.sync:show_when_committed",
    f"{_SHOWN}::test_a_name_changes_with_the_commit_alone",
)
def shown_before_the_commit(show_when_committed, pages, **kwargs):
    """A public name shows its object before the flip is committed."""
    from django_sitemaps_plus.publishing import sync

    sync.show([page.pk for page in pages], **kwargs)


@mutant(
    "publishing.sync:_settle",
    f"{_TORN}::test_two_builders_name_in_the_other_order",
)
def pointer_read_once(settle, tree, found, **kwargs):
    """A public name is shown without a second look at the pointer."""
    from unittest import mock

    from django_sitemaps_plus.publishing import sync

    with mock.patch.object(sync, "_pointers_of", return_value=dict(found)):
        return settle(tree, found, **kwargs)


@mutant(
    "publishing.prune:delete_object",
    "tests/reliability/test_worker_kills.py::test_killed_while_building[1]",
    is_slow=True,
)
def leftovers_stay(delete_object, name):
    """A prune leaves what killed workers have stored."""


@mutant("publishing.prune:_unreferenced", "tests/reliability/test_prune.py")
def prune_takes_claimed_pages(unreferenced, section, *args):
    """A prune takes what a builder is about to publish."""
    from django_sitemaps_plus.models import Page

    claimed = Page.objects.filter(section__name=section).exclude(token="")
    tokens = dict(claimed.values_list("pk", "token"))
    claimed.update(token="")
    try:
        return unreferenced(section, *args)
    finally:
        for pk, token in tokens.items():
            Page.objects.filter(pk=pk).update(token=token)


@mutant(
    "building.flip:pointer",
    "tests/integration/diagnostics/test_prune.py",
)
def old_objects_not_remembered(pointer, *args):
    """An object that stood for long is pruned as soon as it is replaced."""
    return {**pointer(*args), "previous_object": ""}
