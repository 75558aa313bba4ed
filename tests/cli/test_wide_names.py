"""Names with wide characters on pseudo-terminals: the columns behind them stand below each other at every width."""

import pytest

from kctl.sandbox import Sandbox
from tests.cli.groups_scene import commit
from tests.cli.processes import BOUND_S, kctl
from tests.cli.terminal import Terminal

GROUPS = {"\u65e5\u672c\u30b0\u30eb\u30fc\u30d7": 12, "a\U0001f680": 3, "billing": 7}
"""Names of groups, and how many columns of a terminal each takes."""


@pytest.mark.parametrize("columns", [40, 80, 120, 200])
def test_groups_with_wide_names_are_aligned(columns: int) -> None:
    with Sandbox(nodes=1, topics={"orders": 1}).serve() as served:
        for group in GROUPS:
            commit(served.bootstrap, group, {("orders", 0): 1})
        with Terminal("groups", "list", "-b", served.bootstrap, columns=columns, environ={"NO_COLOR": "1"}) as terminal:
            lines = terminal.read_all().decode().splitlines()
            assert terminal.process.wait(BOUND_S) == 0
        piped = kctl("groups", "list", "-b", served.bootstrap).stdout.decode()
    for group, width in GROUPS.items():
        assert group in piped
        (line,) = [each for each in lines if group in each]
        if lines[0].startswith("GROUP "):
            head, _, _ = lines[0].partition("STATE")
            before, _, _ = line.partition("Empty")
            assert len(before) - len(group) + width == len(head), lines
        else:  # a narrow terminal has a block for each group
            assert len(line) - len(group) + width <= columns
