"""`kctl topics offsets` and `kctl topics trim`: offsets shown, records deleted, refusals."""

import json
from typing import Any

import pytest

from kctl.cli.exit_codes import ExitCode
from tests.cli.groups_scene import fill
from tests.cli.processes import Ended, kctl


@pytest.fixture
def filled(bootstrap: str, topic: str) -> str:
    fill(bootstrap, topic, {0: 10, 1: 4}, first_ms=1_600_000_000_000)
    return topic


def rows(bootstrap: str, *words: str) -> list[dict[str, Any]]:
    ended = kctl("topics", *words, "-b", bootstrap, "--output", "json")
    assert ended.code == 0, ended
    found: list[dict[str, Any]] = json.loads(ended.stdout)["rows"]
    return found


def ends(bootstrap: str, topic: str) -> list[tuple[int, int]]:
    return [(row["start"], row["end"]) for row in rows(bootstrap, "offsets", topic)]


def trim(bootstrap: str, topic: str, *words: str) -> Ended:
    return kctl("topics", "trim", topic, *words, "-b", bootstrap, "--output", "json")


def test_offsets_are_shown_by_place_and_time(bootstrap: str, filled: str) -> None:
    assert ends(bootstrap, filled) == [(0, 10), (0, 4), (0, 0)]
    for at, offsets in (
        ("start", [0, 0, 0]),
        ("end", [10, 4, 0]),
        ("@1600000000000", [0, 0, None]),
        ("@2033-01-01T00:00:00Z", [None, None, None]),
    ):
        assert [row["offset"] for row in rows(bootstrap, "offsets", filled, "--at", at)] == offsets
    newest = rows(bootstrap, "offsets", f"{filled}:0", "--at", "max-timestamp")
    assert [row["offset"] for row in newest] == [9]


def test_trim_is_a_dry_run_until_execute(bootstrap: str, filled: str) -> None:
    ended = trim(bootstrap, filled, "--before", "6")
    assert (ended.code, [row["result"] for row in json.loads(ended.stdout)["rows"]]) == (
        0,
        ["would be deleted", "would be deleted", "nothing to delete"],
    )
    says = "dry run: up to 10 records of 2 partitions would be deleted. Add --execute to make the change."
    assert ended.stderr == f"kctl topics: {says}\n"
    assert ends(bootstrap, filled) == [(0, 10), (0, 4), (0, 0)]
    for flag in ("--execute", "--yes"):
        ended = trim(bootstrap, filled, "--before", "6", flag)
        assert (ended.code, ended.stderr) == (0, "")
        assert ends(bootstrap, filled) == [(6, 10), (4, 4), (0, 0)]


def test_trim_of_one_partition_by_time_or_to_its_end(bootstrap: str, filled: str) -> None:
    assert trim(bootstrap, f"{filled}:1", "--before", "@2033-01-01T00:00:00Z", "--execute").code == 0
    assert ends(bootstrap, filled) == [(0, 10), (4, 4), (0, 0)]
    assert trim(bootstrap, f"{filled}:0", "--before", "end", "--execute").code == 0
    assert ends(bootstrap, filled) == [(10, 10), (4, 4), (0, 0)]


@pytest.mark.parametrize(
    ("words", "code", "says"),
    [
        (("trim", "TOPIC", "--before", "start"), ExitCode.USAGE, "use an offset, @TIME, or end instead of 'start'"),
        (("trim", "TOPIC", "--before", "1:2"), ExitCode.USAGE, "use an offset, @TIME, or end instead of '1:2'"),
        (("trim", "TOPIC", "--before", "soon"), ExitCode.USAGE, "--before"),
        (("trim", "TOPIC"), ExitCode.USAGE, "--before"),
        (("trim", "TOPIC:9", "--before", "1"), ExitCode.UNKNOWN_RESOURCE, "has no partition 9"),
        (("trim", "no-such-topic", "--before", "1", "--execute"), ExitCode.UNKNOWN_RESOURCE, "no-such-topic"),
        (("offsets", "TOPIC", "--at", "5"), ExitCode.USAGE, "use start, end, max-timestamp, or @TIME instead of '5'"),
        (("offsets", "no-such-topic"), ExitCode.UNKNOWN_RESOURCE, "no-such-topic"),
    ],
)
def test_mistake_is_named(bootstrap: str, topic: str, words: tuple[str, ...], code: int, says: str) -> None:
    ended = kctl("topics", *[word.replace("TOPIC", topic) for word in words], "-b", bootstrap)
    assert (ended.code, says in ended.stderr) == (code, True), ended
