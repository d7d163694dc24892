"""The known mistakes of what writes files and names them, as those in mistakes.py."""

from __future__ import annotations

from .mistakes import TESTS, Mutant

_SWEEP = f"{TESTS}/test_kill_sweep.py::test_killed_at_any_step"
_CRASHES = f"{TESTS}/test_crash_states.py"
_TORN = f"{TESTS}/test_torn_reads.py"

FILE_MUTANTS = (
    Mutant(
        "the old object is deleted before the new one is saved",
        "building/page.py",
        "        name = store_object(",
        "        from django_sitemaps_plus.storage import delete_object\n\n"
        "        if page.object:\n"
        "            delete_object(page.object)\n"
        "        name = store_object(",
        f"{_SWEEP}[edits_and_a_split-options1]",
    ),
    Mutant(
        "objects are written under their final name",
        "storage/filesystem.py",
        "tempfile.mkstemp(prefix=TEMPORARY, dir=target.parent)\n",
        "os.open(target, os.O_WRONLY | os.O_CREAT), str(target)\n",
        f"{_SWEEP}[first_build-options0]",
    ),
    Mutant(
        "files are not flushed",
        "storage/filesystem.py",
        "                os.fsync(file.fileno())\n",
        "",
        _CRASHES,
    ),
    Mutant(
        "directories are not flushed",
        "storage/filesystem.py",
        "                _sync_directory(directory)\n",
        "                pass\n",
        _CRASHES,
    ),
    Mutant(
        "a directory that cannot be flushed ends a build without a word",
        "storage/filesystem.py",
        "            except OSError as error:\n",
        "            except LookupError as error:\n",
        f"{TESTS}/test_storage_faults.py::test_files",
    ),
    Mutant(
        "the public directory itself is not flushed",
        "storage/public.py",
        "            flush_directory(self.root.parent)\n",
        "",
        _CRASHES,
    ),
    Mutant(
        "the public directory is not flushed after the index has its name",
        "storage/public.py",
        "            _unflushed.add(self.root)\n",
        "",
        f"{_CRASHES}::test_power_cut_at_any_step[gzip-edits_and_a_split-options2]",
    ),
    Mutant(
        "the public name of an empty page goes before the index",
        "building/public.py",
        "        if hides or pointer.section == INDEX:\n",
        "        if True:\n",
        f"{_CRASHES}::test_power_cut_at_any_step[gzip-deletions_and_merges-options3]",
    ),
    Mutant(
        "public index before the pages: pieces of a split get no names",
        "building/reshape.py",
        "        show_when_committed([page, *others])\n",
        "",
        f"{_SWEEP}[edits_and_a_split-options1]",
    ),
    Mutant(
        "public index before the pages: a new tree begins with it",
        "building/public.py",
        "    new = {pk for pk, p in indexes.items() if not tree.is_of(p.name)}\n",
        "    new: set[int] = set()\n",
        f"{_CRASHES}::test_power_cut_at_any_step[gzip-a_new_tree-options0]",
    ),
    Mutant(
        "public name before pointer",
        "building/publisher.py",
        "        show_when_committed(\n            [page for page, _ in shown],\n",
        "        from django_sitemaps_plus.publishing.sync import show\n\n"
        "        show(\n            [page.pk for page, _ in shown],\n",
        f"{_SWEEP}[edits_and_a_split-options1]",
    ),
    Mutant(
        "public names are written in place",
        "storage/public.py",
        "            replace(temporary, target)\n",
        "            shutil.copyfile(temporary, target)\n",
        f"{_TORN}::test_public_files",
    ),
    Mutant(
        "a public name is deleted before it is saved",
        "storage/public.py",
        "            replace(temporary, target)\n",
        "            target.unlink(missing_ok=True)\n"
        "            replace(temporary, target)\n",
        f"{_TORN}::test_public_files",
    ),
    Mutant(
        "old objects are deleted at once",
        "building/loop.py",
        "        for page, built in flipped:\n",
        "        from django_sitemaps_plus.storage import delete_object\n\n"
        "        for page, built in flipped:\n"
        "            if page.object and page.object != built.object:\n"
        "                delete_object(page.object)\n",
        f"{_TORN}::test_objects",
    ),
    Mutant(
        "a prune leaves what killed workers have stored",
        "building/prune.py",
        "                delete_object(name)\n                gone.add(name)\n",
        "                gone.add(name)\n",
        f"{TESTS}/test_worker_kills.py::test_killed_while_building[1]",
    ),
    Mutant(
        "a row is left out for a database that is away",
        "sources/rows.py",
        "            if self.raises or is_passing(error):\n",
        "            if self.raises:\n",
        "tests/integration/building/test_query_errors.py::TestRow",
    ),
    Mutant(
        "a soft time limit is an error of the row at which it comes",
        "tasks.py",
        "        with ended_by(SoftTimeLimitExceeded):\n    ",
        "",
        "tests/integration/tasks/test_time_limits.py",
    ),
    Mutant(
        "builders share the connections of the process that forks them",
        "executors/local.py",
        "    _forget_storages()\n",
        "",
        "tests/unit/building/test_pool.py",
    ),
    Mutant(
        "a prune takes what a builder is about to publish",
        "building/unnamed.py",
        "            stored.pop(number, None)\n",
        "            pass\n",
        f"{TESTS}/test_prune.py",
    ),
    Mutant(
        "a public name is shown without a second look at the pointer",
        "building/public.py",
        "        found = {pk: p for pk, p in now.items() if p != found[pk]}\n",
        "        found = {}\n",
        "tests/integration/publishing/test_shown.py::"
        "test_the_last_of_two_builders_shows_the_last_flip",
    ),
    Mutant(
        "a public name shows its object before the flip",
        "building/public.py",
        "    transaction.on_commit(shown, using=own_alias())\n",
        "    shown()\n",
        "tests/integration/publishing/test_shown.py::"
        "test_a_name_changes_with_the_commit_alone",
    ),
)
