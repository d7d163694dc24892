"""A full build by two Celery workers beside one, and what two processes can do."""

from __future__ import annotations

import os
from collections.abc import Iterator

from tests.benchmarks import cores
from tests.benchmarks.building import unbuild
from tests.benchmarks.crew import Crew, start_crew
from tests.benchmarks.harness import Contender, Subject, Target, timed
from tests.benchmarks.sources import DeclaredSource
from tests.support.servers.valkey import start_valkey

_ONE, _TWO = "one worker", "two workers"


def setting(rows: int) -> Iterator[Subject]:
    """Compare them in the same rounds; all three are there all the time."""
    unbuild()
    limit = DeclaredSource.limit
    with (
        start_valkey() as server,
        start_crew(server.url, 1, rows, limit) as one,
        start_crew(server.url, 2, rows, limit) as two,
    ):
        yield Subject(
            title=f"A full build of {rows:,} rows by two Celery workers",
            note="From the message to the published index, by warm workers of one "
            f"process each. {cores.NOTE}",
            warm_ups=2,
            contenders=[_build(_ONE, one), _build(_TWO, two), *cores.contenders()],
            targets=[Target(_TWO, beside=_ONE, times=1 / 1.6, given=cores.GIVEN)],
        )
        for crew in (one, two):
            crew.rest()
    unbuild()


def _build(name: str, crew: Crew) -> Contender:
    def prepare() -> None:
        crew.rest()  # a late message would begin to build, unasked
        unbuild()
        os.sync()

    return timed(name, crew.build, before=prepare)
