"""How gunicorn runs in these tests; names that a version does not know it ignores."""

from __future__ import annotations

loglevel = "warning"
threads = 2
control_socket_disable = True
