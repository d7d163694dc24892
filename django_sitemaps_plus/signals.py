"""The signals of this app; a receiver that raises is logged and stops nothing."""

from __future__ import annotations

from django.dispatch import Signal

#: A page was published. Arguments: ``section`` (its name), ``number``, ``entries`` and
#: ``url`` (its own).
page_built = Signal()

#: A build has ended. Argument: ``report``, a ``BuildReport``.
build_finished = Signal()

#: URLs were added, updated or removed. Arguments: ``section`` (its name), ``added``,
#: ``updated`` and ``removed`` (lists of URLs, at most 1,000 together in each call), and
#: ``announce`` (whether engines are notified).
urls_changed = Signal()
