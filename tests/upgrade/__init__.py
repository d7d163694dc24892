"""A database and files as a release left them, and what the current code does to them.

``python -m tests.upgrade.make`` makes them anew while that release is not out.
"""

from __future__ import annotations
