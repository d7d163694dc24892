"""Mistakes of what answers requests."""

from __future__ import annotations

from dataclasses import replace

from .planting import mutant

_DEGRADED = "tests/reliability/test_degraded.py"
_ANSWERED = f"{_DEGRADED}::test_every_url_is_answered"
_STAMPEDE = "tests/reliability/test_stampede.py"
_HOSTS = "tests/reliability/test_hosts.py"


@mutant("cache:_ask", f"{_ANSWERED}[raising_cache]")
def cache_error_raised(ask, verb, key, *args):
    """An error of the cache reaches the view."""
    from django.core.cache import caches

    from django_sitemaps_plus.conf import get_settings

    return getattr(caches[get_settings().cache], verb)(key, *args)


@mutant("views.sitemaps:note_damaged", f"{_ANSWERED}[failing_storage]")
def unreadable_object_not_rendered(note_damaged, row):
    """A page whose object cannot be read is not rendered live."""
    raise  # the error that the view is dealing with


@mutant(
    "views.sitemaps:_row",
    "tests/reliability/test_kill_sweep.py::test_killed_at_any_step"
    "[edits_and_a_split-options1]",
    is_slow=True,
)
def dirty_index_served(row_of, *args):
    """Index before pages: an index that is dirty is served."""
    row, fault = row_of(*args)
    if row is not None and row.built:
        row.wanted = row.built
    return row, fault


@mutant("views.responses:_etag", "tests/reliability/test_conditional.py")
def one_etag_for_every_encoding(etag, content, is_gzip):
    """One ETag for every encoding."""
    return etag(content, is_gzip=False)


@mutant("sites:get_site", _HOSTS)
def origin_of_the_request(get_site, request=None):
    """The host of a request becomes the origin."""
    if request is None:
        return get_site()
    return replace(get_site(request), origin=f"{request.scheme}://{request.get_host()}")


@mutant("serving.robots_txt:get_site", _HOSTS)
def robots_of_the_request(get_site, request=None):
    """robots.txt names the host of a request."""
    site = get_site(request)
    return replace(site, origin=f"https://{request.get_host()}") if request else site


class _Forgetful(dict):
    def __setitem__(self, key, value):
        pass


@mutant("serving.robots_txt:_last", f"{_DEGRADED}::test_robots_needs_no_database")
def robots_forgotten(last):
    """robots.txt forgets which indexes there were."""
    return _Forgetful()


@mutant(
    "serving.single_flight:BUSY_SECONDS",
    f"{_STAMPEDE}::test_a_second_render_where_the_first_dies",
)
def leader_waited_for_without_end(busy_seconds):
    """A leader that has died keeps the others waiting."""
    return 3_600


class _Separate(dict):
    def setdefault(self, key, default=None):
        return default


@mutant(
    "serving.single_flight:_flights",
    f"{_STAMPEDE}::test_one_render_for_each_process_where_the_cache_is_lost",
)
def threads_do_not_wait(flights):
    """Threads of a process do not wait for each other."""
    return _Separate()


@mutant(
    "serving.single_flight:SingleFlight.value",
    f"{_STAMPEDE}::test_one_plan_for_a_shared_cache",
)
def every_caller_computes(value, flight):
    """Each request that finds nothing in the cache computes the value."""
    from django_sitemaps_plus.cache import recall

    found = recall(flight.key, flight.kind)
    return flight.compute() if found is None else found


@mutant(
    "views.responses:_MAX_HEADER",
    "tests/integration/views/test_http.py::TestCodings"
    "::test_the_beginning_of_a_long_header_is_read",
)
def long_header_read_whole(most):
    """Accept-Encoding is read however long it is."""
    return most * 1_000


@mutant(
    "models.sections:MISSING_GRACE",
    "tests/integration/building/test_build.py"
    "::TestMissing::test_an_index_that_is_rendered_meanwhile_lists_it",
)
def missing_section_forgotten_at_once(grace):
    """An index forgets a section as soon as it is no longer registered."""
    return grace * 0
