"""What real engines check before they accept a request, and what they answer."""

import http.client
import json
import re
import secrets
from collections.abc import Callable
from typing import Any
from urllib.parse import quote, unquote, urlsplit

from .engine_requests import RefusedError, Request, State, Verdict, require

#: They open nothing but this engine.
BING_KEY = "bing-only-for-tests"
YANDEX_TOKEN = "yandex-only-for-tests"
YANDEX_USER = "42"
BAIDU_TOKEN = "baidu-only-for-tests"

AUDIENCE = "https://oauth2.googleapis.com/token"
SCOPE = "https://www.googleapis.com/auth/webmasters"
GRANT = "urn:ietf:params:oauth:grant-type:jwt-bearer"

#: URLs that have it in them are bad, each by itself.
MARKER = "bad-url"

_KEY = re.compile(r"[A-Za-z0-9-]{8,128}")


def judge_indexnow(state: State, request: Request) -> Verdict:
    """Take a list of URLs as indexnow.org has it."""
    require(request.method == "POST", 405, "only POST")
    said = request.json()
    require(isinstance(said, dict), 400, "no object")
    host, key, urls = (said.get(name) for name in ("host", "key", "urlList"))
    known = {"host", "key", "keyLocation", "urlList"}
    require(set(said) <= known, 400, "unknown field")
    require(isinstance(key, str) and isinstance(host, str), 400, "no key, no host")
    require(isinstance(urls, list) and urls, 400, "no urlList")
    require(all(isinstance(url, str) for url in urls), 400, "URLs are strings")
    require(_KEY.fullmatch(key), 422, "not the format of a key")
    require(len(urls) <= 10_000, 422, "more than 10,000 URLs")
    require(len(set(urls)) == len(urls), 400, "one URL twice")
    require(not any(MARKER in url for url in urls), 400, "invalid URL")
    location = said.get("keyLocation", f"https://{host}/{key}.txt")
    below = location.rpartition("/")[0]
    for url in [*urls, location]:
        require(_host(url) == host, 422, f"{url} is not of {host}")
        path = f"{urlsplit(below).path}/"
        require((urlsplit(url).path or "/").startswith(path), 422, "not below the key")
    require(_has_key(state, location, host, key), 403, f"no key file for {key}")
    return Verdict(status=200, targets=tuple(urls))


def _host(url: str) -> str:
    parts = urlsplit(url)
    is_url = parts.scheme in ("http", "https") and url.isascii() and " " not in url
    return parts.netloc if is_url else ""


def _has_key(state: State, location: str, host: str, key: str) -> bool:
    if state.site_url is None:
        return True
    site = urlsplit(state.site_url)
    connection = http.client.HTTPConnection(str(site.hostname), site.port, timeout=5)
    try:
        connection.request("GET", urlsplit(location).path, headers={"Host": host})
        response = connection.getresponse()
        found = response.read(1_024)
    except OSError:
        return False
    finally:
        connection.close()
    return response.status == 200 and found == key.encode()


def judge_token(state: State, request: Request) -> Verdict:
    """Give an access token for a claim that a known service account has signed."""
    from google.auth import exceptions, jwt

    require(request.method == "POST", 405, "only POST")
    form = request.form()
    require(form.get("grant_type") == [GRANT], 400, '{"error": "unsupported_grant"}')
    [assertion] = form["assertion"]
    invalid = '{"error": "invalid_grant"}'
    try:
        _, claims, _, _ = jwt._unverified_decode(assertion)
        key = state.public_keys.get(claims["iss"], b"")
        require(key, 400, invalid)
        claims = jwt.decode(assertion, certs=key, audience=AUDIENCE)
    except (exceptions.GoogleAuthError, KeyError, ValueError) as error:
        raise RefusedError(400, invalid) from error
    require(claims.get("scope") == SCOPE, 400, '{"error": "invalid_scope"}')
    require(claims["exp"] - claims["iat"] <= 3_600, 400, invalid)
    token = secrets.token_hex(16)
    state.tokens.add(token)
    said = {"access_token": token, "expires_in": 3_599, "token_type": "Bearer"}
    return Verdict(status=200, body=json.dumps(said).encode())


def judge_search_console(state: State, request: Request) -> Verdict:
    kind, _, token = request.headers.get("Authorization", "").partition(" ")
    is_known = kind == "Bearer" and token in state.tokens
    require(is_known, 401, f'{{"error": {{"code": 401, "token": "{token}"}}}}')
    parts = request.path.removeprefix("/webmasters/v3/").split("/")
    shaped = len(parts) == 4 and parts[::2] == ["sites", "sitemaps"]
    require(shaped, 404, "Not Found")
    site_url, feed = unquote(parts[1]), unquote(parts[3])
    encoded = quote(site_url, safe=""), quote(feed, safe="")
    require((parts[1], parts[3]) == encoded, 404, "not one segment each")
    is_owned = state.properties is None or site_url in state.properties
    require(is_owned, 403, _no_permission(site_url))
    key = site_url, feed
    if request.method == "GET":
        require(key in state.sitemaps, 404, '{"error": {"code": 404}}')
        return Verdict(status=200, body=json.dumps(state.sitemaps[key]).encode())
    require(request.method == "PUT", 405, "PUT or GET")
    require(not request.body, 400, "there is no body")
    is_below = site_url.startswith("sc-domain:") or feed.startswith(site_url)
    require(is_below, 400, '{"error": {"code": 400}}')
    fresh = {"path": feed, "isPending": True, "warnings": "0", "errors": "0"}
    state.sitemaps.setdefault(key, fresh)
    return Verdict(status=204, targets=(feed,))


def _no_permission(site_url: str) -> str:
    message = f"User does not have sufficient permission for site '{site_url}'."
    errors = [{"domain": "global", "reason": "forbidden", "message": message}]
    return json.dumps({"error": {"code": 403, "message": message, "errors": errors}})


def judge_bing(state: State, request: Request) -> Verdict:
    require(request.method == "POST", 405, "only POST")
    key = request.parameters().get("apikey")
    unknown = f'{{"ErrorCode":3,"Message":"ERROR!!! InvalidApiKey {key}"}}'
    require(key == BING_KEY, 400, unknown)
    said = request.json()
    require(set(said) == {"siteUrl", "feedUrl"}, 400, '{"ErrorCode":8}')
    is_below = said["feedUrl"].startswith(said["siteUrl"])
    require(is_below, 400, '{"ErrorCode":7,"Message":"ERROR!!! InvalidUrl"}')
    return Verdict(status=200, body=b'{"d":null}', targets=(said["feedUrl"],))


def judge_yandex(state: State, request: Request) -> Verdict:
    require(request.method == "POST", 405, "only POST")
    token = request.headers.get("Authorization")
    unknown = f'{{"error_code":"INVALID_OAUTH_TOKEN","got":"{token}"}}'
    require(token == f"OAuth {YANDEX_TOKEN}", 401, unknown)
    found = re.fullmatch(
        r"/yandex/v4/user/(\d+)/hosts/(https?:[^/:]+:\d+)/user-added-sitemaps",
        request.path,
    )
    require(found, 404, '{"error_code":"RESOURCE_NOT_FOUND"}')
    assert found is not None
    require(found[1] == YANDEX_USER, 403, '{"error_code":"INVALID_USER_ID"}')
    url = request.json()["url"]
    require(_host(url), 400, '{"error_code":"INVALID_URL"}')
    require(url not in state.yandex, 409, '{"error_code":"SITEMAP_ALREADY_ADDED"}')
    state.yandex.add(url)
    return Verdict(status=201, body=b'{"sitemap_id":"1"}', targets=(url,))


def judge_baidu(state: State, request: Request) -> Verdict:
    require(request.method == "POST", 405, "only POST")
    asked = request.parameters()
    token, site = asked.get("token"), asked.get("site", "")
    invalid = f'{{"error":401,"message":"token is not valid","token":"{token}"}}'
    require(token == BAIDU_TOKEN, 401, invalid)
    request.is_of("text/plain")
    urls = request.body.decode("ascii").split("\n")
    require(len(urls) <= 2_000, 400, _baidu("only 2000 urls are allowed once"))
    require(site and "://" not in site, 400, _baidu("site error"))
    bad = [url for url in urls if MARKER in url or not _host(url)]
    foreign = [url for url in urls if url not in bad and _host(url) != site]
    taken = tuple(url for url in urls if url not in bad and url not in foreign)
    said: dict[str, Any] = {"remain": 1_000, "success": len(taken)}
    if bad:
        said["not_valid"] = bad
    if foreign:
        said["not_same_site"] = foreign
    return Verdict(status=200, body=json.dumps(said).encode(), targets=taken)


def _baidu(message: str) -> str:
    return json.dumps({"error": 400, "message": message})


def judge_hub(state: State, request: Request) -> Verdict:
    require(request.method == "POST", 405, "only POST")
    form = request.form()
    require(form.get("hub.mode") == ["publish"], 400, "hub.mode is not publish")
    topics = form.get("hub.url", [])
    require(topics and all(_host(topic) for topic in topics), 400, "no hub.url")
    require(not any(MARKER in topic for topic in topics), 400, "no such topic")
    return Verdict(status=204, targets=tuple(topics))


def judge_ping(state: State, request: Request) -> Verdict:
    require(request.method == "GET", 405, "only GET")
    target = request.parameters().get("sitemap", "")
    require(_host(target) and MARKER not in target, 400, "no sitemap")
    return Verdict(status=200, targets=(target,))


#: What begins a path, the kind of engine, and who judges.
JUDGES: list[tuple[str, str, Callable[[State, Request], Verdict]]] = [
    ("/indexnow", "indexnow", judge_indexnow),
    ("/token", "token", judge_token),
    ("/webmasters/v3/", "search_console", judge_search_console),
    ("/bing/SubmitFeed", "bing", judge_bing),
    ("/yandex/v4/", "yandex", judge_yandex),
    ("/baidu/urls", "baidu", judge_baidu),
    ("/hub", "hub", judge_hub),
    ("/ping", "ping", judge_ping),
]


def kind_of(path: str) -> str:
    """Return the kind of engine that a path belongs to; "" for none."""
    return next((kind for start, kind, _ in JUDGES if path.startswith(start)), "")


def judge(state: State, request: Request) -> Verdict:
    """Return what the engine of a path decides."""
    judges = [found for start, _, found in JUDGES if request.path.startswith(start)]
    if not judges:
        return Verdict(status=404, body=b"no engine has this path")
    try:
        return judges[0](state, request)
    except RefusedError as refused:
        return refused.verdict
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        return Verdict(status=400, body=f"cannot be read: {error}".encode())
