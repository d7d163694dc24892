"""A real nginx that serves a directory, and asks others for what is not there."""

import grp
import os
import pwd
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from .programs import HOST, Program, place

_CONFIGURATION = """
{user}
daemon off;
pid {prefix}/pid;
error_log stderr notice;
worker_processes 1;
events {{ worker_connections 256; }}
http {{
  access_log {prefix}/access;
  client_body_temp_path {prefix}/client;
  proxy_temp_path {prefix}/proxy;
  fastcgi_temp_path {prefix}/fastcgi;
  uwsgi_temp_path {prefix}/uwsgi;
  scgi_temp_path {prefix}/scgi;
  types {{ application/xml xml; application/gzip gz; text/plain txt; }}
  {server}
}}
"""

_SERVER = """server {{
    listen {host}:{port};
    root {public};
    # For directories that hold page.xml.gz alone: "on" would find nothing for a client
    # that does not accept gzip, "always" finds the file and gunzip inflates it.
    gzip_static always;
    gunzip on;
    gzip_vary on;
    location / {{ {fallback} }}
    location @upstream {{
      proxy_pass {upstream};
      proxy_set_header Host $http_host;
      proxy_http_version 1.1;
    }}
  }}
"""


@contextmanager
def start_nginx(
    public: Path, *, upstream: str | None = None, server: str = _SERVER
) -> Iterator[Program]:
    """Run a server for the time of a ``with`` block.

    Args:
        public: the directory that it serves.
        upstream: the address that is asked for what is not there; None for 404.
        server: another block to configure it by, for :meth:`str.format`.
    """
    program = shutil.which("nginx") or shutil.which("nginx", path="/usr/sbin")
    if program is None:
        pytest.skip("nginx is missing: apt install nginx-light")
    with place("nginx") as (port, directory):
        block = server.format(
            host=HOST,
            port=port,
            public=public,
            fallback="error_page 404 = @upstream;" if upstream else "",
            upstream=upstream or "http://127.0.0.1:9",  # never asked
        )
        text = _CONFIGURATION.format(user=_user(), prefix=directory, server=block)
        configuration = directory / "nginx.conf"
        configuration.write_text(text, encoding="utf-8")
        command = [program, "-p", str(directory), "-c", str(configuration)]
        command += ["-e", "stderr"]
        with Program(command, directory=directory, port=port).started() as nginx:
            yield nginx


def _user() -> str:
    # Started by root, its workers would be www-data, who may not read our directories.
    # Started by anyone else, it warns of the line and runs as who started it.
    if os.getuid() != 0:
        return ""
    group = grp.getgrgid(os.getgid()).gr_name
    return f"user {pwd.getpwuid(0).pw_name} {group};"
