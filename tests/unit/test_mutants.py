"""The known mistakes can still be planted: their code and their tests exist."""

from __future__ import annotations

import pytest

from tests.reliability.mutants.__main__ import EVERY, PACKAGE, TOP
from tests.reliability.mutants.mistakes import Mutant


@pytest.mark.parametrize("mutant", EVERY, ids=[mutant.name for mutant in EVERY])
class TestMutants:
    def test_it_can_be_planted(self, mutant: Mutant):
        """Whoever changes the code changes the mistake as well."""
        text = (TOP / PACKAGE / mutant.module).read_text()
        assert text.count(mutant.old) == 1

    def test_its_test_exists(self, mutant: Mutant):
        """As a file, and by its last name."""
        path, *names = mutant.test.split("::")
        last = names[-1].partition("[")[0] if names else ""
        assert last in (TOP / path).read_text()
