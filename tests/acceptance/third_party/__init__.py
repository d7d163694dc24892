"""Edits in the trees of Wagtail and django-oscar, and when sitemaps show them.

Run ``python -m tests.acceptance.third_party``, or the tests with ``SOAK=1``. It makes
a virtual environment, installs both from the package index, and makes a site of 200
pages and a shop of 26 categories and 40 products. Each is listed twice: by a class of
``django.contrib.sitemaps``, registered as it is, and by a ``ModelSource``; that of the
pages is ``django_sitemaps_plus.contrib.wagtail.PageSource``.

After each edit the next build should show it, or one two minutes later. A table says
how many URLs should go and come, and how many did; the exit code is 1 if a list is
wrong, unless the guide to classes says that they do not notice such edits. An argument
names an interpreter that has both packages already. ``TEST_DB=postgresql`` has the
rows in a PostgreSQL of its own.
"""

from __future__ import annotations
