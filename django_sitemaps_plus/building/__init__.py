"""Builds: claimed pages are rendered and published, until none is dirty.

The way of a page: :func:`build.build` opens sections, plans those that have no pages
and marks what changed (``plan/replan.py``, ``settle.py``). ``worker.py``, in this
process or in helpers (``pool.py``), claims dirty pages in batches, has each rendered
(``store.py``, an index by ``index.py``) or split (``plan/split.py``), and flips the
batch (``flip.py``) but for what waits for the guard (``guard.py``). What is left is
settled: held pages are judged again, small ones merged. Indexes are built last.
"""
