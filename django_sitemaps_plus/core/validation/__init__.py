"""Validation: what is wrong in sitemap files, whoever has written them."""

from __future__ import annotations

from .checker import Checker, File
from .rules import WARNINGS, WORDS, Fault, Problem
from .values import is_signed

__all__ = ["WARNINGS", "WORDS", "Checker", "Fault", "File", "Problem", "is_signed"]
