"""Names with wide characters on pseudo-terminals: the columns behind them stand below each other at every width."""

import re
from collections.abc import Iterator

import pytest

from kctl.cli.formats.columns import columns_of
from kctl.sandbox import Sandbox
from kctl.sandbox.server import ServedSandbox
from tests.cli.groups_scene import commit
from tests.cli.processes import BOUND_S, kctl
from tests.cli.terminal import Terminal

GROUPS = {"\u65e5\u672c\u30b0\u30eb\u30fc\u30d7": 12, "a\U0001f680": 3, "billing": 7}
"""Names of groups, and how many columns of a terminal each takes."""


@pytest.fixture(scope="module")
def served() -> Iterator[ServedSandbox]:
    with Sandbox(nodes=1, topics={"orders": 1}).serve() as served:
        for group in GROUPS:
            commit(served.bootstrap, group, {("orders", 0): 1})
        yield served


@pytest.mark.parametrize("columns", [40, 80, 120, 200])
def test_groups_with_wide_names_are_aligned(columns: int, served: ServedSandbox) -> None:
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


@pytest.mark.parametrize("columns", [40, 80])
def test_findings_about_wide_names_fit(columns: int, served: ServedSandbox) -> None:
    group = next(iter(GROUPS))
    with Terminal("why", "group", group, "-b", served.bootstrap, columns=columns) as terminal:
        lines = terminal.read_all().decode().splitlines()
    assert any(group in line for line in lines)
    commands = ("  show:", "  fix:")  # a command is not broken
    plain = [re.sub(r"\x1b\[\d*m", "", line) for line in lines]
    assert max(columns_of(line) for line in plain if not line.startswith(commands)) <= columns, lines
    assert lines[0].startswith("\x1b[31mERROR ")
