"""Mistakes of requests to engines, and of what hides secrets."""

from __future__ import annotations

import http.client
import socket
import zlib
from dataclasses import replace
from ipaddress import ip_network

from .planting import mutant

_HTTP = "notifications.http"
_EGRESS = "tests/reliability/test_egress.py"
_FORBIDDEN = f"{_EGRESS}::test_forbidden_urls_connect_to_nobody"
_MEMORY = f"{_EGRESS}::test_nobody_fills_our_memory"
_LEAKS = "tests/unit/notifications/test_http.py"
_ANSWERS = f"{_LEAKS}::test_nothing_leaks_whatever_a_server_answers"
_SHOWN = "tests/unit/notifications/test_http.py::TestShowing"
_QUOTED = (
    "tests/reliability/test_secrets.py::test_options_that_cannot_work_are_not_quoted"
)


@mutant(f"{_HTTP}.client:_Exchange._ask", f"{_EGRESS}::test_redirects_are_not_followed")
def redirect_followed(ask, exchange):
    """A redirect is followed."""
    from unittest import mock

    from django_sitemaps_plus.notifications.http import client

    seen = []
    real = client.redirect_host
    hosts = mock.Mock(side_effect=lambda at: seen.append(at) or real(at))
    with mock.patch.object(client, "redirect_host", hosts):
        answer = ask(exchange)
    if answer.redirect_host:
        exchange._message = replace(exchange._message, url=seen[0])
        return ask(exchange)
    return answer


@mutant(
    f"{_HTTP}.client:open_connection",
    f"{_EGRESS}::test_a_name_that_moves_to_loopback_is_not_followed",
)
def name_looked_up_again(open_connection, endpoint, address, seconds):
    """A name is looked up again after its address was checked."""
    return open_connection(endpoint, endpoint.host, seconds)


@mutant(f"{_HTTP}.addresses:find_addresses", _FORBIDDEN)
def first_address_checked_alone(find_addresses, endpoint):
    """Only the first address of a host is checked."""
    from unittest import mock

    found = socket.getaddrinfo(endpoint.host, endpoint.port)
    with mock.patch.object(socket, "getaddrinfo", return_value=found[:1]):
        find_addresses(endpoint)
    return [address[0] for *_, address in found]


@mutant(f"{_HTTP}.addresses:_NOT_PUBLIC", _FORBIDDEN)
def global_is_public(networks):
    """Whatever ipaddress calls global may be asked."""
    return []


@mutant(f"{_HTTP}.addresses:_PUBLIC_IPV6", _FORBIDDEN)
def mapped_address_not_seen(network):
    """An IPv4 address inside an IPv6 one is not seen."""
    return ip_network("::/0")


@mutant(f"{_HTTP}.addresses:parse_endpoint", _FORBIDDEN)
def http_to_anybody(parse_endpoint, url):
    """Requests go to any host without TLS."""
    endpoint = parse_endpoint(url.replace("http://", "https://", 1))
    if not url.startswith("http://"):
        return endpoint
    return replace(endpoint, scheme="http", port=80)


@mutant(
    f"{_HTTP}.addresses:may_be_asked",
    f"{_EGRESS}::test_a_localhost_elsewhere_is_not_asked",
)
def localhost_anywhere(may_be_asked, address, endpoint):
    """A host that is called localhost may be anywhere."""
    return endpoint.is_loopback or may_be_asked(address, endpoint)


@mutant(f"{_HTTP}.client:read_body", _MEMORY)
def body_without_limit(read_body, response):
    """A body is read to its end."""
    return response.read()


@mutant(f"{_HTTP}.client:read_body", _MEMORY)
def body_decompressed(read_body, response):
    """A body is decompressed however large it becomes."""
    body = read_body(response)
    if response.headers.get("Content-Encoding") == "gzip":
        body = zlib.decompressobj(31).decompress(body)
    return body


@mutant(
    f"{_HTTP}.client:_Exchange.join",
    f"{_EGRESS}::test_nobody_keeps_us_longer_than_promised",
    is_slow=True,
)
def dripping_server_waited_for(join, exchange, seconds=None):
    """A server that sends byte by byte is waited for."""
    return join(exchange, 20 * (seconds or 0))


@mutant("notifications.secrets:Secret.__repr__", _SHOWN)
def secret_in_its_repr(represent, secret):
    """A secret shows what it is in its repr."""
    return secret.reveal()


@mutant("notifications.secrets:Secret.__reduce__", _SHOWN)
def secret_pickled(reduce, secret):
    """A secret can be pickled."""
    return type(secret), (secret.reveal(),)


@mutant(f"{_HTTP}.client:_Message.hide", _ANSWERS)
def quoted_secret_kept(hide, message, text):
    """What a server quotes of a secret is kept."""
    return text


@mutant(
    f"{_HTTP}.client:_Exchange._failure",
    f"{_LEAKS}::test_nothing_leaks_where_nobody_is_asked",
)
def traceback_of_the_thread(failure, exchange, error):
    """An error of a request leads to the thread that knows the secrets."""
    trace = error.__traceback__
    return failure(exchange, error).with_traceback(trace)


@mutant(f"{_HTTP}.client:open_connection", _ANSWERS)
def connection_prints(open_connection, *args):
    """Connections print what they send where a project has it so."""
    connection = open_connection(*args)
    connection.set_debuglevel(http.client.HTTPConnection.debuglevel)
    return connection


@mutant(
    "notifications.submit:without_text",
    "tests/reliability/test_secrets.py::test_an_engine_that_raises_is_not_quoted[Leaky]",
)
def raised_text_logged(without_text, error):
    """The log quotes what an engine raises."""
    return str(error)


@mutant("notifications.configuration:_instance", f"{_QUOTED}[raises]")
def options_quoted(instance, where, kind, options):
    """What an engine raises of its options is quoted."""
    from django_sitemaps_plus.notifications.configuration import EngineFault

    try:
        kind(**options)
    except Exception as error:  # noqa: BLE001 - as the original does
        raise EngineFault(f"{where} with these options: {error}", kind) from None
    return instance(where, kind, options)


@mutant("notifications.configuration:_made", f"{_QUOTED}[module]")
def import_error_raised(made, name, configured):
    """An error of a module goes up through a frame that holds the options."""
    from django.utils.module_loading import import_string

    import_string(configured["BACKEND"])
    return made(name, configured)
