"""Mistakes of what queues URL changes and submits them to engines."""

from __future__ import annotations

from datetime import timedelta

from .planting import mutant

_NOTIFICATIONS = "tests/integration/notifications"
_DELIVERING = f"{_NOTIFICATIONS}/test_delivering.py"
_TWO = f"{_NOTIFICATIONS}/test_two_at_once.py"
_QUEUE = f"{_NOTIFICATIONS}/test_queue.py"
_TELLING = "tests/integration/building/plan/test_signals_sent.py::TestUrlsChanged"


@mutant(
    "notifications.dispatch:claim",
    f"{_TWO}::test_killed_between_request_and_note_tells_again",
)
def sent_before_it_is_sent(claim, *args):
    """A delivery counts as sent before it is sent."""
    from django.db.models import F

    rows = claim(*args)
    _again(rows).update(sent=F("wanted"))
    return rows


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
    f"{_NOTIFICATIONS}/test_small_transactions.py::test_what_a_publication_changed",
)
def one_large_transaction(relay, publication):
    """All that a publication changed is queued in one transaction."""
    from django_sitemaps_plus.models.transactions import atomic

    with atomic():
        return relay(publication)


@mutant("notifications.rows:update", f"{_TWO}::test_a_sleeper_notes_nothing")
def acknowledged_without_token(update, rows, **fields):
    """A delivery is acknowledged without its token: the lease is not fenced."""
    for row in rows:
        row.refresh_from_db(fields=["token"])
    return update(rows, **fields)


@mutant("notifications.backoff:renew", f"{_TWO}::test_a_sleeper_tells_nothing_more")
def lost_lease_not_noticed(renew, host):
    """An engine is notified by a process that has lost its lease."""
    return True


@mutant(
    "notifications.backoff:take", f"{_TWO}::test_only_one_tells_an_engine_of_a_host"
)
def two_at_once(take, site, engine, host):
    """Two processes notify one engine at once."""
    from django_sitemaps_plus.models import EngineHost

    EngineHost.objects.filter(site=site, engine=engine, host=host).update(token="")
    return take(site, engine, host)


@mutant("notifications.backoff:leave", f"{_TWO}::test_a_sleeper_does_not_let_others_in")
def claim_of_another_released(leave, host):
    """A process releases the claim of another."""
    host.refresh_from_db(fields=["token"])
    leave(host)


@mutant(
    "notifications.backoff:may_be_told",
    f"{_TWO}::test_a_call_does_not_wait_for_another",
)
def taken_engine_asked_again(may_be_told, host):
    """A process that finds an engine taken asks again and again."""
    return host.not_before


@mutant(
    "notifications.dispatch:_Telling._again_after",
    f"{_QUEUE}::TestTimes::test_the_same_url_is_told_again_only_after_a_while",
)
def submitted_again_at_once(again_after, telling):
    """What was submitted a moment ago is submitted again at once."""
    return timedelta(0)


@mutant("notifications.dispatch:update", f"{_QUEUE}::TestChangesThatCome")
def change_during_a_request_lost(update, rows, **fields):
    """A change during a request counts as submitted."""
    from django.db.models import F

    if "sent" in fields:
        fields["sent"] = F("wanted")
    return update(rows, **fields)


@mutant("notifications.outbox:want", f"{_QUEUE}::TestChangesThatCome")
def change_while_waiting_lost(want, site, engine, targets, *args, **kwargs):
    """A change of a URL that waits already is not counted."""
    from django.db.models import F

    waiting = _waiting(site, engine)
    ids = list(waiting.values_list("pk", flat=True))
    want(site, engine, targets, *args, **kwargs)
    waiting.filter(pk__in=ids).update(wanted=F("wanted") - 1)


@mutant("notifications.outbox:want", f"{_QUEUE}::TestChangesThatCome")
def put_off_by_every_change(want, site, engine, targets, at=None, *args, **kwargs):
    """Changes that never end put a request off for ever."""
    from django.utils import timezone

    want(site, engine, targets, at, *args, **kwargs)
    _waiting(site, engine).update(not_before=timezone.now() + timedelta(seconds=5))


def _waiting(site, engine):
    from django_sitemaps_plus.models import Delivery

    return Delivery.objects.waiting().filter(site=site.name, engine=engine.name)


def _again(rows):
    from django_sitemaps_plus.models import Delivery

    return Delivery.objects.filter(pk__in=[row.pk for row in rows])


@mutant(
    "notifications.backoff:rest",
    # Where an engine fails for good, as in others of its class, it would be asked
    # for ever.
    f"{_DELIVERING}::TestAnEngineThatIsAway"
    "::test_it_is_left_alone_for_as_long_as_it_asks",
)
def failed_engine_asked_at_once(rest, failures, error):
    """An engine that failed is asked again at once."""
    return timedelta(0)


@mutant("notifications.dispatch:claim", f"{_DELIVERING}::TestAUrlThatAnEngineFailsAt")
def failed_url_first(claim, due, most):
    """A URL at which an engine fails comes first again."""
    due.update(attempts=0)
    return claim(due, most)


@mutant(
    "notifications.dispatch:claim",
    f"{_DELIVERING}::TestAUrlThatAnEngineFailsAt",
    is_slow=True,  # it hangs until its bound
)
def failed_url_forgotten(claim, due, most):
    """A URL that a request failed with is never submitted again."""
    return claim(due.filter(attempts=0), most)


@mutant(
    "notifications.backoff:LONGEST_PAUSE",
    "tests/reliability/test_outage.py::test_an_outage_of_two_days[1]",
    is_slow=True,
)
def pauses_without_end(longest_pause):
    """Pauses grow without end."""
    return timedelta(days=365)


@mutant("notifications.dispatch:_Telling._narrow", f"{_DELIVERING}::TestABadUrl")
def whole_batch_rejected(narrow, telling, host, rows, error):
    """One bad URL takes its batch with it."""
    telling._reject(host, rows, error)
    return True


@mutant("notifications.backoff:is_well", f"{_DELIVERING}::TestBatches")
def small_after_success(is_well, host, *args):
    """A success makes the next batch small."""
    is_well(host, *args)
    if not host.batch:
        type(host).objects.filter(pk=host.pk).update(batch=2)
        host.batch = 2


@mutant(
    "notifications.outbox:_forget_others",
    f"{_NOTIFICATIONS}/test_feeds_that_go.py::test_a_host_that_returns_is_told_again",
)
def feed_known_for_ever(forget_others, *args):
    """A feed that has gone is known for ever."""
