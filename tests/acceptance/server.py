"""How gunicorn runs in these tests; names that a version does not know it ignores."""

loglevel = "warning"
threads = 2
control_socket_disable = True
