"""Asks the database when a worker imports it, which is before it forks."""

from django.db import connection

connection.ensure_connection()
connection.close()  # back into the pool, whose threads a fork does not copy
