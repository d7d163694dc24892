"""The known mistakes of requests to engines, and of secrets; as in mistakes.py."""

from __future__ import annotations

from .mistakes import TESTS, Mutant

_HTTP = "notifications/http"
_EGRESS = f"{TESTS}/test_egress.py"
_FORBIDDEN = f"{_EGRESS}::test_forbidden_urls_connect_to_nobody"
_SECRETS = f"{TESTS}/test_secrets.py"
_PAGES = f"{TESTS}/test_debug_pages.py"
_BAD_OPTIONS = f"{_SECRETS}::test_options_that_cannot_work_are_not_quoted"
_LEAKS = "tests/unit/notifications/http/test_leaks.py"
_ANSWERS = f"{_LEAKS}::test_nothing_leaks_whatever_a_server_answers"
_SHOWN = "tests/unit/notifications/test_secrets.py::TestShowing"

EGRESS_MUTANTS = (
    Mutant(
        "a redirect is followed",
        f"{_HTTP}/attempts.py",
        '        location = revealed.hide(headers.get("Location", "")',
        '        if "Location" in headers:\n'
        "            from dataclasses import replace\n\n"
        '            self._message = replace(self._message, url=headers["Location"])\n'
        "            return self._ask()\n"
        '        location = revealed.hide(headers.get("Location", "")',
        f"{_EGRESS}::test_redirects_are_not_followed",
    ),
    Mutant(
        "a name is looked up again after its address was checked",
        f"{_HTTP}/attempts.py",
        "new_connection(endpoint, addresses.pop(0), seconds)",
        "new_connection(endpoint, addresses.pop(0) and endpoint.host, seconds)",
        f"{_EGRESS}::test_a_name_that_moves_to_loopback_is_not_followed",
    ),
    Mutant(
        "only the first address of a host is checked",
        f"{_HTTP}/addresses.py",
        "    for address in addresses:\n",
        "    for address in addresses[:1]:\n",
        _FORBIDDEN,
    ),
    Mutant(
        "what ipaddress calls global is asked",
        f"{_HTTP}/addresses.py",
        "    return not any([ip in network for network in _NOT_PUBLIC])\n",
        "    return True\n",
        _FORBIDDEN,
    ),
    Mutant(
        "an IPv4 address inside an IPv6 one is not seen",
        f"{_HTTP}/addresses.py",
        "    if isinstance(ip, IPv6Address) and ip not in _PUBLIC_IPV6:\n",
        "    if not ip:\n",
        _FORBIDDEN,
    ),
    Mutant(
        "http is spoken to anybody",
        f"{_HTTP}/addresses.py",
        '    if endpoint.scheme != "https" and not endpoint.is_loopback:\n',
        "    if endpoint.scheme not in _PORTS:\n",
        _FORBIDDEN,
    ),
    Mutant(
        "who is called localhost may be anywhere",
        f"{_HTTP}/addresses.py",
        "        return ip_address(address).is_loopback\n",
        "        return True\n",
        f"{_EGRESS}::test_a_localhost_elsewhere_is_not_asked",
    ),
    Mutant(
        "a body is read to its end",
        f"{_HTTP}/attempts.py",
        "            body = read(response, MAX_BODY)\n",
        "            body = response.read()\n",
        f"{_EGRESS}::test_nobody_fills_our_memory",
    ),
    Mutant(
        "headers and interim answers are read however many they are",
        f"{_HTTP}/connections.py",
        "    connection.response_class = _Response\n",
        "",
        f"{_EGRESS}::test_nobody_fills_our_memory",
    ),
    Mutant(
        "a body is decompressed however large it becomes",
        f"{_HTTP}/attempts.py",
        "            body = read(response, MAX_BODY)\n",
        "            body = read(response, MAX_BODY)\n"
        '        if response.headers.get("Content-Encoding") == "gzip":\n'
        "            import zlib\n\n"
        "            body = zlib.decompressobj(31).decompress(body)\n",
        f"{_EGRESS}::test_nobody_fills_our_memory",
    ),
    Mutant(
        "a server that drips is waited for",
        f"{_HTTP}/__init__.py",
        "        attempt.join(MAX_SECONDS)\n",
        "        attempt.join(3 * MAX_SECONDS)\n",
        f"{_EGRESS}::test_nobody_keeps_us_longer_than_promised",
    ),
)

SECRET_MUTANTS = (
    Mutant(
        "a secret shows what it is in its repr",
        "notifications/secrets.py",
        "    def __repr__(self) -> str:\n        return HIDDEN\n",
        "    def __repr__(self) -> str:\n        return self._value\n",
        _SHOWN,
    ),
    Mutant(
        "a secret can be pickled",
        "notifications/secrets.py",
        '        raise TypeError("A secret cannot',
        "        return Secret, (self._value,)\n"
        '        raise TypeError("A secret cannot',
        _SHOWN,
    ),
    Mutant(
        "what a server quotes of a secret is kept",
        f"{_HTTP}/attempts.py",
        "            body=revealed.hide(body),\n",
        "            body=body,\n",
        _ANSWERS,
    ),
    Mutant(
        "an error of HTTP leads to the thread that knows the secrets",
        f"{_HTTP}/attempts.py",
        "            return error.with_traceback(None)\n",
        "            return error\n",
        f"{_LEAKS}::test_nothing_leaks_where_nobody_is_asked",
    ),
    Mutant(
        "connections print what they send where a project has it so",
        f"{_HTTP}/connections.py",
        "    connection.set_debuglevel(0)\n",
        "",
        _ANSWERS,
    ),
    Mutant(
        "the log quotes what an engine raises",
        "notifications/delivering.py",
        "                without_text(error),\n",
        "                error,\n",
        f"{_SECRETS}::test_an_engine_that_raises_is_not_quoted[Leaky]",
    ),
    Mutant(
        "what an engine raises of its options is quoted",
        "notifications/configured.py",
        '        return f"cannot be made with these options: {kind}. ',
        '        return f"cannot be made with these options: {error}. ',
        f"{_BAD_OPTIONS}[raises]",
    ),
    Mutant(
        "an error of a module goes up through a frame with the options",
        "notifications/configured.py",
        "    except Exception as error:  # noqa: BLE001 - a module of",
        "    except AttributeError as error:  # a module of",
        f"{_BAD_OPTIONS}[module]",
    ),
    Mutant(
        "the settings keep the text of a service account's key",
        "notifications/configured.py",
        '                options["credentials"] = Secret(given)\n',
        "                pass\n",
        f"{_PAGES}::test_a_key_that_works_is_not_shown[text]",
    ),
)
