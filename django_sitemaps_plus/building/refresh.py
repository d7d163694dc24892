"""A refresh: what has changed is noticed, built and published; the rest stays."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from datetime import datetime
from functools import partial

from django.db import DatabaseError
from django.db.models import Count, F, Q, Sum

from django_sitemaps_plus import tracking
from django_sitemaps_plus.conf import Site, get_site
from django_sitemaps_plus.exceptions import BuildError, StalePlanError
from django_sitemaps_plus.executors.local import run
from django_sitemaps_plus.models import INDEX, Hold, Page, Section, State
from django_sitemaps_plus.registry import registry
from django_sitemaps_plus.signals import build_finished
from django_sitemaps_plus.storage import get_storage

from . import publications
from .claims import database_now
from .guard import judge, note_peak
from .index import may_publish_index
from .loop import Counts, Work
from .plans import first_plan
from .reshape import add_pages, begin_replan, finish_replan, merge_small

logger = logging.getLogger(__name__)
