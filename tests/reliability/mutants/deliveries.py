"""Mistakes of what queues URL changes and submits them to engines."""

from __future__ import annotations

from datetime import timedelta

from .planting import mutant

_NOTIFICATIONS = "tests/integration/notifications"
_DELIVERING = f"{_NOTIFICATIONS}/test_delivering.py"
_ROWS = "models.deliveries:DeliveryQuerySet"
_HOST = "models.deliveries:EngineHost"
_SUBMITTER = "notifications.submit:Submitter"
_TELLING = "tests/integration/building/plan/test_signals_sent.py::TestUrlsChanged"


@mutant(
    f"{_ROWS}.claim", f"{_DELIVERING}::test_killed_between_request_and_note_tells_again"
)
def sent_before_it_is_sent(claim, rows, most):
    """A delivery counts as sent before it is sent."""
    from django.db.models import F

    claimed = claim(rows, most)
    rows.model.objects.filter(pk__in=[row.pk for row in claimed]).update(
        sent=F("wanted")
    )
    return claimed


@mutant(
    "notifications.url_changes:_relay",
    f"{_TELLING}::test_a_teller_that_dies_leaves_it_to_the_next",
)
def publication_deleted_first(relay, publication):
    """A publication is deleted before its changes are queued."""
    type(publication).objects.filter(pk=publication.pk).delete()
    return relay(publication)


@mutant(
    "notifications.url_changes:_relay",
    f"{_DELIVERING}::test_what_a_publication_changed",
)
def one_large_transaction(relay, publication):
    """All that a publication changed is queued in one transaction."""
    from django_sitemaps_plus.models.base import atomic

    with atomic():
        return list(relay(publication))


@mutant(f"{_ROWS}._settle", f"{_DELIVERING}::test_a_sleeper_notes_nothing")
def acknowledged_without_token(settle, manager, rows, **fields):
    """A delivery is acknowledged without its token: the lease is not fenced."""
    for row in rows:
        row.refresh_from_db(fields=["token"])
    settle(manager, rows, **fields)


@mutant(f"{_HOST}.renew", f"{_DELIVERING}::test_a_sleeper_tells_nothing_more")
def lost_lease_not_noticed(renew, host):
    """An engine is notified by a process that has lost its lease."""
    return True


@mutant(
    "models.deliveries:EngineHostQuerySet.claim",
    f"{_DELIVERING}::test_only_one_tells_an_engine_of_a_host",
)
def two_at_once(claim, hosts, site, engine, host):
    """Two processes notify one engine at once."""
    hosts.filter(site=site, engine=engine, host=host).update(token="")
    return claim(hosts, site, engine, host)


@mutant(f"{_HOST}.release", f"{_DELIVERING}::test_a_sleeper_does_not_let_others_in")
def claim_of_another_released(release, host):
    """A process releases the claim of another."""
    host.refresh_from_db(fields=["token"])
    release(host)


@mutant(f"{_HOST}.free_at", f"{_DELIVERING}::test_a_call_does_not_wait_for_another")
def taken_engine_asked_again(free_at, host):
    """A process that finds an engine taken asks again and again."""
    return host.not_before


@mutant(
    f"{_SUBMITTER}._interval",
    f"{_DELIVERING}::TestTimes::test_the_same_url_is_told_again_only_after_a_while",
)
def submitted_again_at_once(interval, submitter):
    """What was submitted a moment ago is submitted again at once."""
    return timedelta(0)


@mutant(f"{_ROWS}._settle", f"{_DELIVERING}::TestChangesThatCome")
def change_during_a_request_lost(settle, manager, rows, **fields):
    """A change during a request counts as submitted."""
    from django.db.models import F

    if "sent" in fields:
        fields["sent"] = F("wanted")
    settle(manager, rows, **fields)


@mutant(f"{_ROWS}.want", f"{_DELIVERING}::TestChangesThatCome")
def change_during_a_request_not_counted(want, rows, site, engine, targets, *args, **kw):
    """A change of a URL that waits already is not counted."""
    from django.db.models import F

    waiting = rows.of(site, engine).waiting()
    ids = list(waiting.values_list("pk", flat=True))
    want(rows, site, engine, targets, *args, **kw)
    waiting.filter(pk__in=ids).update(wanted=F("wanted") - 1)


@mutant(f"{_ROWS}.want", f"{_DELIVERING}::TestChangesThatCome")
def put_off_by_every_change(want, rows, site, engine, targets, *args, **kwargs):
    """Changes that never end put a request off for ever."""
    from django.utils import timezone

    want(rows, site, engine, targets, *args, **kwargs)
    later = timezone.now() + timedelta(seconds=5)
    rows.of(site, engine).waiting().update(not_before=later)


@mutant(
    "notifications.backoff:pause",
    # Where an engine fails for good, as in others of its class, it would be asked
    # for ever.
    f"{_DELIVERING}::TestAnEngineThatIsAway"
    "::test_it_is_left_alone_for_as_long_as_it_asks",
)
def failed_engine_asked_at_once(pause, failures, error, first_seconds):
    """An engine that failed is asked again at once."""
    return timedelta(0)


@mutant(f"{_ROWS}.claim", f"{_DELIVERING}::TestAUrlThatAnEngineFailsAt")
def failed_url_first(claim, rows, most):
    """A URL at which an engine fails comes first again."""
    rows.update(attempts=0)
    return claim(rows, most)


@mutant(
    f"{_ROWS}.claim",
    f"{_DELIVERING}::TestAUrlThatAnEngineFailsAt",
    is_slow=True,  # it hangs until its bound
)
def failed_url_forgotten(claim, rows, most):
    """A URL that a request failed with is never submitted again."""
    return claim(rows.filter(attempts=0), most)


@mutant(
    "notifications.backoff:LONGEST_PAUSE",
    "tests/reliability/test_outage.py::test_an_outage_of_two_days[1]",
    is_slow=True,
)
def pauses_without_end(longest_pause):
    """Pauses grow without end."""
    return timedelta(days=365)


@mutant(f"{_SUBMITTER}._narrow", f"{_DELIVERING}::TestABadUrl")
def whole_batch_rejected(narrow, submitter, rows, error):
    """One bad URL takes its batch with it."""
    submitter._reject(rows, error)
    return True


@mutant("notifications.backoff:batch_after_success", f"{_DELIVERING}::TestBatches")
def small_after_success(batch_after_success, batch, most):
    """A success makes the next batch small."""
    return batch_after_success(max(batch, 1), most)


@mutant(
    f"{_ROWS}.forget",
    f"{_NOTIFICATIONS}/test_feeds.py::test_a_host_that_returns_is_told_again",
)
def feed_known_for_ever(forget, rows, hashes):
    """A feed that has gone is known for ever."""
