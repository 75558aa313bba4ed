"""Every planted bug can be planted: the text that it replaces is in its file, once."""

from pathlib import Path

import pytest

from tests.sim.mutants.hunt import ALL
from tests.sim.mutants.mutants import Mutant

ROOT = Path(__file__).parents[3]


@pytest.mark.parametrize("mutant", ALL, ids=lambda mutant: mutant.name)
def test_the_text_of_each_bug_is_there_once(mutant: Mutant) -> None:
    for path, old, new in mutant.replacements:
        assert (ROOT / path).read_text().count(old) == 1
        assert new != old
