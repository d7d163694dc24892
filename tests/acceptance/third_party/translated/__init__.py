"""Sources of what django-modeltranslation, django-parler and Wagtail translate.

Run ``python -m tests.acceptance.third_party.translated``, or the tests with ``SOAK=1``.
It makes a virtual environment, installs them from the package index, and compares
sections, which are declared as the guide to languages shows, with contrib's classes
for the same rows: what they list, and what builds show after edits. The exit code is 1
if they differ. An argument names an interpreter that has them already.
"""

from __future__ import annotations
