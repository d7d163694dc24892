"""Validation: what is wrong in sitemap files, whoever has written them."""

from __future__ import annotations

from .checker import Checker, File
from .entries import is_signed
from .rules import WARNINGS, WORDS, Fault, Problem

__all__ = ["WARNINGS", "WORDS", "Checker", "Fault", "File", "Problem", "is_signed"]
