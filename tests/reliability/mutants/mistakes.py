"""The known mistakes: what is planted where, and which test must catch it."""

from __future__ import annotations

from dataclasses import dataclass

TESTS = "tests/reliability"


@dataclass(frozen=True)
class Mutant:
    """A mistake: in a module the one text is replaced by the other."""

    name: str
    module: str
    old: str
    new: str
    test: str
    database: str = "sqlite"


_LOST = f"{TESTS}/test_lost_updates.py"
_DURING = f"{_LOST}::test_changes_during_a_build_are_published"
_FENCING = f"{TESTS}/test_fencing.py"
_SWEEP = f"{TESTS}/test_kill_sweep.py::test_killed_at_any_step"
_GUARD = f"{TESTS}/test_guard.py"
_SAVES = f"{TESTS}/test_save_safety.py"
_STAMPEDE = f"{TESTS}/test_stampede.py"
_WAKE_UPS = "tests/unit/executors/test_wakeups.py"
_TASKS = "tests/integration/tasks"

MUTANTS = (
    Mutant(
        "boolean dirty flag: a flip clears every change",
        "building/publisher.py",
        '        "built": version,\n',
        '        "built": F("wanted"),\n',
        f"{_DURING}[stored]",
    ),
    Mutant(
        "boolean dirty flag: a dirty page is not marked again",
        "tracking/marking.py",
        "    return Page.objects.filter(pk__in=pages), fields\n",
        "    return Page.objects.filter(pk__in=pages, wanted=F('built')), fields\n",
        f"{_DURING}[stored]",
    ),
    Mutant(
        "wanted is read after the build",
        "building/loop.py",
        "        flipped = self._flip(results)\n",
        "        for page, _ in results:\n"
        "            page.refresh_from_db(fields=['wanted'])\n"
        "        flipped = self._flip(results)\n",
        f"{_DURING}[rows read]",
    ),
    Mutant(
        "lock without fence: a flip asks for no token",
        "building/publisher.py",
        "    mine = Page.objects.filter(pk=page, token=token, built__lt=version)\n",
        "    mine = Page.objects.filter(pk=page, built__lt=version)\n",
        f"{_FENCING}::test_a_stopped_builder_publishes_nothing[stored]",
    ),
    Mutant(
        "release without token",
        "building/claims.py",
        "    return Page.objects.filter(pk=page.pk, token=page.token)\n",
        "    return Page.objects.filter(pk=page.pk)\n",
        f"{_FENCING}::test_giving_up_leaves_the_claim_of_another",
    ),
    Mutant(
        "a flip does not compare versions",
        "building/publisher.py",
        "token=token, built__lt=version)\n",
        "token=token)\n",
        f"{_FENCING}::test_a_version_that_is_built_is_not_built_over",
    ),
    Mutant(
        "a page is claimed though another has it",
        "building/claims.py",
        "    return free.filter(pk__in=pages), values\n",
        "    return Page.objects.filter(pk__in=pages), values\n",
        f"{_FENCING}::test_two_builders_never_take_the_same_page",
    ),
    Mutant(
        "a claim keeps nobody away",
        "models/pages.py",
        "        given_up = Q(claimed_at=None) | Q(claimed_at__lt=Now() - lease)\n",
        "        given_up = Q(wanted__gt=0)\n",
        f"{TESTS}/test_schedulers.py",
    ),
    Mutant(
        "a page that somebody builds is not marked",
        "tracking/marking.py",
        "    return Page.objects.filter(pk__in=pages), fields\n",
        "    return Page.objects.filter(pk__in=pages, token=''), fields\n",
        f"{TESTS}/test_schedulers.py",
    ),
    Mutant(
        "a lease that never ends: nobody builds what a dead worker had",
        "models/pages.py",
        "        given_up = Q(claimed_at=None) | Q(claimed_at__lt=Now() - lease)\n",
        "        given_up = Q(claimed_at=None)\n",
        f"{TESTS}/test_recovery.py::test_all_workers_are_killed",
    ),
    Mutant(
        "a sweep looks at nothing, so a message that is lost is never made up for",
        "tasks.py",
        "    names = [name for name in sections or known if name in known]\n",
        "    names = [name for name in sections if name in known]\n",
        f"{TESTS}/test_recovery.py::test_a_broker_that_is_killed",
    ),
    Mutant(
        "an error of the cache reaches the view",
        "building/cached.py",
        "    except Exception as error:  # noqa: BLE001 - whatever its client raises\n",
        "    except LookupError as error:\n",
        f"{TESTS}/test_degraded.py::test_every_url_is_answered[raising_cache]",
    ),
    Mutant(
        "a page whose object cannot be read is not rendered",
        "views/sitemaps.py",
        "                note_lost(row)\n",
        "                raise\n",
        f"{TESTS}/test_degraded.py::test_every_url_is_answered[failing_storage]",
    ),
    Mutant(
        "no savepoint while a change is recorded",
        "tracking/recording.py",
        "    with savepoint(using):\n        _execute(connections[using], rows)\n",
        "    _execute(connections[using], rows)\n",
        f"{TESTS}/test_recording.py",
        database="postgresql",
    ),
    Mutant(
        "index before pages: a dirty index is served",
        "views/sitemaps.py",
        "    is_current = row is not None and row.built == row.wanted\n",
        "    is_current = row is not None and row.built > 0\n",
        f"{_SWEEP}[edits_and_a_split-options1]",
    ),
    Mutant(
        "one ETag for every encoding",
        "views/responses.py",
        "{content.gzip_hash if is_gzip else content.plain_hash}",
        "{content.plain_hash}",
        f"{TESTS}/test_conditional.py",
    ),
    Mutant(
        "the host of a request becomes the origin",
        "conf.py",
        "    if base_url is None and request is not None and settings.DEBUG:\n",
        "    if request is not None:\n",
        f"{TESTS}/test_hosts.py",
    ),
    Mutant(
        "robots.txt names the host of a request",
        "building/robots.py",
        "        site = get_site(request)\n",
        "        site = get_site(request)\n"
        "        if request:\n"
        "            site = Site(site.name, f'https://{request.get_host()}')\n",
        f"{TESTS}/test_hosts.py",
    ),
    Mutant(
        "robots.txt forgets what it told last",
        "building/robots.py",
        "    _last[site.name] = (site, urls)\n",
        "",
        f"{TESTS}/test_degraded.py::test_robots_needs_no_database",
    ),
    Mutant(
        "a split leaves its pieces clean",
        "building/reshape.py",
        "        again = partial(point, is_again=True, announce=page.announce)\n",
        "        again = partial(point, announce=page.announce)\n",
        f"{_DURING}[inside split]",
    ),
    Mutant(
        "pages are marked by an old plan",
        "tracking/marking.py",
        "    rows = Section.objects.filter(pk=section, plan_version=version)\n",
        "    rows = Section.objects.filter(pk=section)\n",
        f"{_LOST}::test_a_key_located_before_a_split_marks_the_page_that_owns_it",
    ),
    Mutant(
        "changes of another database are deleted before their pages are committed",
        "tracking/marking.py",
        "delete_changes([change for change in changes if _database(change) == own])\n",
        "delete_changes(changes)\n",
        "tests/integration/tracking/test_notify.py::TestMarking::"
        "test_changes_of_another_database_go_once_the_pages_are_committed",
    ),
    Mutant(
        "a section falls in small steps",
        "building/publisher.py",
        "        held += eroding([it for it in results if it not in held])\n",
        "",
        "tests/integration/building/test_erosion.py",
    ),
    Mutant(
        "no shrink guard",
        "building/guard.py",
        "    if peak >= MIN_ENTRIES and entries <",
        "    if not peak and entries <",
        f"{_GUARD}::TestShrinkGuard",
    ),
    Mutant(
        "a hold that nobody remembers",
        "building/publisher.py",
        "    _hold_sections(held)\n",
        "",
        f"{_SWEEP}[deletions_and_merges-options2]",
    ),
    Mutant(
        "Last-Modified follows a clock that is set back",
        "building/publisher.py",
        'found["published_at"] = _publication_time(page, now)\n',
        'found["published_at"] = now\n',
        f"{TESTS}/test_conditional.py::"
        "test_a_clock_that_is_set_back_makes_no_false_304",
    ),
    Mutant(
        "no time limit for wake-ups: told in the caller's thread",
        "executors/wakeups.py",
        "            thread.start()\n",
        "            self._run(section, go)\n",
        f"{_SAVES}::test_a_lost_broker_and_cache[black_hole-no limits]",
    ),
    Mutant(
        "robust=False: what a wake-up raises reaches the user's commit",
        "tracking/recording.py",
        "using=using, robust=True)",
        "using=using, robust=False)",
        f"{_SAVES}::test_an_executor_that_raises",
    ),
    Mutant(
        "a wake-up speaks for changes after it was told",
        "executors/wakeups.py",
        "        self._coming.pop(section, None)\n",
        "",
        f"{_WAKE_UPS}::test_a_change_while_one_is_told_is_told_again",
    ),
    Mutant(
        "a busy key that never ends: its leader may be dead",
        "building/flights.py",
        "BUSY_SECONDS = 1\n",
        "BUSY_SECONDS = 3_600\n",
        f"{_STAMPEDE}::test_a_second_render_where_the_first_dies",
    ),
    Mutant(
        "threads of a process do not wait for each other",
        "building/flights.py",
        "    flight: Future[T] = _flights.setdefault(kept.key, mine)\n",
        "    flight = mine\n",
        f"{_STAMPEDE}::test_one_render_for_each_process_where_the_cache_is_lost",
    ),
    Mutant(
        "each request that finds no live plan makes one",
        "building/plans.py",
        "    plan = once(_kept(section, site), make, alive)\n",
        "    plan = _kept(section, site).recall() or make(alive)\n",
        f"{_STAMPEDE}::test_one_plan_for_a_shared_cache",
    ),
    Mutant(
        "the wake key is forgotten after changes are read",
        "tasks.py",
        "    for name in sections:\n"
        "        # From here on a change is not sure to be seen: it must wake somebody "
        "again.\n"
        "        forget(_wake_key(name))\n"
        "    _build(sections, audits=False)\n",
        "    _build(sections, audits=False)\n"
        "    for name in sections:\n"
        "        forget(_wake_key(name))\n",
        f"{_TASKS}/test_wake_ups.py::TestMessages::"
        "test_a_save_while_a_refresh_is_at_work_sends_another",
    ),
    Mutant(
        "one wake key for all sections",
        "tasks.py",
        '    return f"wake:{section}"\n',
        '    return "wake"\n',
        f"{_TASKS}/test_wake_ups.py::TestMessages::"
        "test_each_section_has_a_message_of_its_own",
    ),
    Mutant(
        "no breaker: nobody hears that a wake-up was not sent",
        "tasks.py",
        "        forget(key)\n        raise\n",
        "        forget(key)\n",
        f"{_TASKS}/test_wake_ups.py::TestMessages::"
        "test_a_broker_that_fails_is_left_alone_for_a_while",
    ),
    Mutant(
        "messages are acknowledged before their work is done",
        "tasks.py",
        "    acks_late = True\n    reject_on_worker_lost = True\n",
        "",
        f"{_TASKS}/test_lost_workers.py::test_a_message_whose_worker_died_comes_back",
    ),
    Mutant(
        "results of tasks are kept",
        "tasks.py",
        "    ignore_result = True\n",
        "",
        f"{_TASKS}/test_messages.py::test_messages_name_sections_and_no_result_is_kept",
    ),
    Mutant(
        "a broker that never answers keeps a task waiting",
        "tasks.py",
        "connect_timeout=BROKER_SECONDS, transport_options=_TIMEOUTS\n",
        "connect_timeout=BROKER_SECONDS\n",
        f"{_TASKS}/test_messages.py::"
        "test_help_that_cannot_be_called_delays_a_build_a_little",
    ),
)
