"""The known mistakes of what tells engines, as those in mistakes.py."""

from __future__ import annotations

from .mistakes import TESTS, Mutant

_NOTIFICATIONS = "tests/integration/notifications"
_DELIVERING = f"{_NOTIFICATIONS}/test_delivering.py"
_TWO = f"{_NOTIFICATIONS}/test_two_at_once.py"
_LIVE = f"{_NOTIFICATIONS}/test_live.py"
_QUEUE = f"{_NOTIFICATIONS}/test_queue.py"
_FIRST_BUILDS = f"{_NOTIFICATIONS}/test_first_builds.py"
_RECONCILED = f"{TESTS}/test_reconcile.py::test_edits_that_nobody_told"
_LOOP = "notifications/delivering.py"
_ROWS = "notifications/rows.py"

DELIVERY_MUTANTS = (
    Mutant(
        "marked as sent before it is sent",
        _ROWS,
        'token=token, sending=F("wanted"))',
        'token=token, sending=F("wanted"), sent=F("wanted"))',
        f"{_TWO}::test_killed_between_request_and_note_tells_again",
    ),
    Mutant(
        "a publication goes before it is heard",
        "building/publications.py",
        "    row = Publication",
        "    Publication.objects.filter(pk=publication.pk).delete()\n"
        "    row = Publication",
        "tests/integration/building/plan/test_signals_sent.py::TestUrlsChanged::"
        "test_a_teller_that_dies_leaves_it_to_the_next",
    ),
    Mutant(
        "all that a publication changed is queued in one transaction",
        "building/publications.py",
        "            failures += _tell(publication, heard)\n",
        "            from django_sitemaps_plus.models.transactions import atomic\n\n"
        "            with atomic():\n"
        "                failures += _tell(publication, heard)\n",
        f"{_NOTIFICATIONS}/test_small_transactions.py::test_what_a_publication_changed",
    ),
    Mutant(
        "a delivery is acknowledged without its token",
        _ROWS,
        "        part.filter(token=rows[0].token).update(**fields)\n",
        "        part.update(**fields)\n",
        f"{_TWO}::test_a_sleeper_notes_nothing",
    ),
    Mutant(
        "an engine is told by who has lost the lease",
        _LOOP,
        "if not (is_ours := recipients.renew(recipient)):",
        "if not (is_ours := True):",
        f"{_TWO}::test_a_sleeper_tells_nothing_more",
    ),
    Mutant(
        "an engine is told by two at once",
        "notifications/recipients.py",
        "    free = rows.filter(given_up, ",
        "    free = rows.filter(",
        f"{_TWO}::test_only_one_tells_an_engine_of_a_host",
    ),
    Mutant(
        "the claim of another is given back",
        "notifications/recipients.py",
        "    return Recipient.objects.filter(pk=recipient.pk, token=recipient.token)\n",
        "    return Recipient.objects.filter(pk=recipient.pk)\n",
        f"{_TWO}::test_a_sleeper_does_not_let_others_in",
    ),
    Mutant(
        "who finds an engine taken asks again and again",
        "notifications/recipients.py",
        "    if not recipient.token:\n",
        "    if True:\n",
        f"{_TWO}::test_a_call_does_not_wait_for_another",
    ),
    Mutant(
        "what was told a moment ago is told again at once",
        _LOOP,
        "            not_before=now + self._again_after(),\n",
        "",
        f"{_QUEUE}::TestTimes::test_the_same_url_is_told_again_only_after_a_while",
    ),
    Mutant(
        "what changes during a request counts as told",
        _LOOP,
        '            sent=F("sending"),\n',
        '            sent=F("wanted"),\n',
        f"{_QUEUE}::TestChangesThatCome",
    ),
    Mutant(
        "a change of what waits already is not counted",
        "notifications/queue.py",
        '        if rows.update(wanted=F("wanted") + 1, ',
        '        if answered.update(wanted=F("wanted") + 1, ',
        f"{_QUEUE}::TestChangesThatCome",
    ),
    Mutant(
        "a site that is not built tells what it lists no more",
        _LOOP,
        "        rows = keep_listed(self.site, claimed, self.unreadable)\n",
        "        rows = claimed\n",
        f"{_LIVE}::TestARowThatChangesWhileItsUrlWaits",
    ),
    Mutant(
        "what cannot be looked up is let go",
        "notifications/live.py",
        "            unreadable[section] = words\n",
        "",
        f"{_LIVE}::TestASectionThatCannotBeRead",
    ),
    Mutant(
        "a save makes what was asked for one of many",
        "notifications/queue.py",
        "        answered.update(changed_at=at, ",
        "        rows.update(is_live=bool(saved.keys))\n"
        "        answered.update(changed_at=at, ",
        f"{_LIVE}::TestUrlsThatAreToldInAnyCase",
    ),
    Mutant(
        "changes without end put a notice off for ever",
        "notifications/queue.py",
        "        answered.update(changed_at=at",
        "        rows.update(changed_at=at",
        f"{_QUEUE}::TestChangesThatCome",
    ),
    Mutant(
        "an engine that failed is asked again at once",
        "notifications/recipients.py",
        "        not_before=timezone.now() + pause,\n",
        "",
        # Where an engine fails for good, as in others of its class, it would be asked
        # for ever.
        f"{_DELIVERING}::TestAnEngineThatIsAway"
        "::test_it_is_left_alone_for_as_long_as_it_asks",
    ),
    Mutant(
        "a URL at which an engine fails comes first again",
        _ROWS,
        "list(fresh[:most]) or list(failed[:most])",
        'list(due.order_by("not_before", "id")[:most])',
        f"{_DELIVERING}::TestAUrlThatAnEngineFailsAt",
    ),
    Mutant(
        "pauses grow without end",
        "notifications/recipients.py",
        "    return min(doubled, LONGEST_PAUSE.total_seconds()) * ",
        "    return doubled * ",
        f"{TESTS}/test_outage.py::test_an_outage_of_two_days[1]",
    ),
    Mutant(
        "one bad URL takes its batch with it",
        _LOOP,
        "        if len(rows) > 1:\n",
        "        if not rows:\n",
        f"{_DELIVERING}::TestABadUrl",
    ),
    Mutant(
        "a small batch makes the next one small",
        "notifications/recipients.py",
        "    wider = recipient.batch if recipient.failures else 2 * recipient.batch\n",
        "    wider = 2 * max(recipient.batch, 1)\n",
        f"{_DELIVERING}::TestBatches",
    ),
    Mutant(
        "a first build is told as news",
        "building/planning.py",
        "            add_plan(section, ranges, announce=False)\n",
        "            add_plan(section, ranges, announce=True)\n",
        f"{_FIRST_BUILDS}::TestNothingIsTold::test_of_a_first_build",
    ),
    Mutant(
        "a deploy hides the change before it",
        "tracking/marking.py",
        '        pages.filter(wanted=F("built")).update(announce=False)\n',
        "        pages.update(announce=False)\n",
        f"{_FIRST_BUILDS}::TestChanges",
    ),
    Mutant(
        "an edit that comes while a deploy is built is never told",
        "building/loop.py",
        "                take_late_changes(page, self.site)\n",
        "",
        f"{_FIRST_BUILDS}::TestChangesDuringABuildOfWhichNobodyIsTold",
    ),
    Mutant(
        "a save is taken from a first build that has begun",
        "tracking/changes.py",
        "        if not Section.objects.filter(pk=section.pk, next_number=1).exists()",
        "        if not section.pk",
        f"{_NOTIFICATIONS}/test_saves.py::TestASiteThatIsNotBuilt",
    ),
    Mutant(
        "a feed that went is known for ever",
        "notifications/queue.py",
        "        _forget_others(site, engine, targets)\n",
        "",
        f"{_NOTIFICATIONS}/test_feeds_that_go.py::"
        "test_a_host_that_returns_is_told_again",
    ),
    Mutant(
        "rows of a related save that memory does not hold are not told",
        "tracking/changes.py",
        "    keys = chain(named.keys, named.others)\n",
        "    keys = chain(named.keys)\n",
        f"{_NOTIFICATIONS}/test_saves.py::TestRelatedSaves",
    ),
    Mutant(
        "what a full build finds is told to nobody",
        "building/refresh.py",
        "            update_pages(pages, [section.pk], ",
        "            update_pages(pages, [section.pk], announce=False, ",
        f"{_RECONCILED}[full-1]",
    ),
    Mutant(
        "what an audit finds is told to nobody",
        "building/audit.py",
        'pages.values(), wanted=F("wanted") + 1)',
        'pages.values(), wanted=F("wanted") + 1, announce=False)',
        f"{_RECONCILED}[audit-1]",
    ),
    Mutant(
        "an audit looks at some of the old pages alone",
        "building/audit.py",
        '        update_pages(rows, pages.values(), wanted=F("wanted") + 1)\n',
        "        rows.update(checked_at=Now())\n"
        "        rows = rows.filter(number__lt=10)\n"
        '        update_pages(rows, pages.values(), wanted=F("wanted") + 1)\n',
        f"{_RECONCILED}[audit-1]",
    ),
    Mutant(
        "all between two edits of a page counts as changed",
        "core/diff.py",
        '    return _difference(set(before.split(b"\\n")), ',
        '    after = after.replace(b"\\n", b" \\n")\n'
        '    return _difference(set(before.split(b"\\n")), ',
        f"{_RECONCILED}[full-1]",
    ),
    Mutant(
        "of an address that goes nobody is told",
        "receivers.py",
        "    urls = [*part.added, *part.updated, *part.removed]\n",
        "    urls = [*part.added, *part.updated]\n",
        f"{_RECONCILED}[full-1]",
    ),
)
