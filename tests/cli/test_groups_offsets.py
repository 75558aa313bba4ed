"""`kctl groups reset-offsets` and `delete-offsets`: nothing without --execute, and then exactly what was shown."""

import json
from pathlib import Path

import pytest

from kctl.cli.exit_codes import ExitCode
from tests.cli.groups_scene import commit, committed, fill, join
from tests.cli.processes import BOUND_S, Ended, kctl
from tests.cli.terminal import Terminal

FIRST_MS = 1_700_000_000_000


@pytest.fixture
def group(topic: str, bootstrap: str) -> str:
    """A group of this test's own that has committed 4 of 10 records of partition 0 and all 3 of partition 1."""
    fill(bootstrap, topic, {0: 10, 1: 3}, FIRST_MS)
    commit(bootstrap, f"{topic}-group", {(topic, 0): 4, (topic, 1): 3})
    return f"{topic}-group"


def reset(bootstrap: str, group: str, *arguments: str) -> Ended:
    return kctl("groups", "reset-offsets", group, "-b", bootstrap, *arguments)


def changes(ended: Ended) -> list[tuple[object, ...]]:
    rows = json.loads(ended.stdout)["rows"]
    return [(row["partition"], row["old"], row["new"], row["note"]) for row in rows]


OUTSIDE_0, OUTSIDE_1 = "is outside the log (0 to 10)", "is outside the log (0 to 3)"
AFTER_END = "no record at or after this time, using the end"


@pytest.mark.parametrize(
    ("aim", "expected"),
    [
        (["--to-earliest"], [(0, 4, 0, None), (1, 3, 0, None)]),
        (["--to-latest"], [(0, 4, 10, None), (1, 3, 3, None)]),
        (["--to-current"], [(0, 4, 4, None), (1, 3, 3, None)]),
        (["--to-offset", "5"], [(0, 4, 5, None), (1, 3, 3, f"5 {OUTSIDE_1}")]),
        (["--shift-by", "2"], [(0, 4, 6, None), (1, 3, 3, f"5 {OUTSIDE_1}")]),
        (["--shift-by", "-4"], [(0, 4, 0, None), (1, 3, 0, f"-1 {OUTSIDE_1}")]),
        (["--to-datetime", "2023-11-14T22:13:22Z"], [(0, 4, 2, None), (1, 3, 2, None)]),
        (["--to-datetime", "1700000005000"], [(0, 4, 5, None), (1, 3, 3, AFTER_END)]),
        (["--by-duration", "36500d"], [(0, 4, 0, None), (1, 3, 0, None)]),
        (["--by-duration", "PT1H"], [(0, 4, 10, AFTER_END),
                                     (1, 3, 3, AFTER_END)]),
    ],
)  # fmt: skip
def test_each_aim(bootstrap: str, topic: str, group: str, aim: list[str], expected: list[tuple[object, ...]]) -> None:
    shown = reset(bootstrap, group, *aim, "--output", "json")
    assert (shown.code, changes(shown)) == (0, expected)
    assert "dry run: " in shown.stderr
    assert "Add --execute to make the change." in shown.stderr
    assert committed(bootstrap, group) == {(topic, 0): 4, (topic, 1): 3}
    done = reset(bootstrap, group, *aim, "--output", "json", "--execute")
    assert (done.code, done.stderr) == (0, "")
    assert [row["result"] for row in json.loads(done.stdout)["rows"]] == ["set", "set"]
    assert committed(bootstrap, group) == {(topic, int(str(row[0]))): row[2] for row in expected}


def test_the_table_of_a_dry_run(bootstrap: str, topic: str, group: str) -> None:
    shown = reset(bootstrap, group, "--to-offset", "4")
    assert [line.split()[:6] for line in shown.stdout.decode().splitlines()] == [
        ["GROUP", "TOPIC", "PARTITION", "OLD", "NEW", "RESULT"],
        [group, topic, "0", "4", "4", "unchanged"],
        [group, topic, "1", "3", "3", "unchanged"],
    ]
    assert "0 of 2 partitions would get a new offset" in shown.stderr


def test_only_the_named_partitions(bootstrap: str, topic: str, group: str) -> None:
    ended = reset(bootstrap, group, "--to-earliest", "--topic", f"{topic}:0,2", "--output", "json", "--execute")
    assert changes(ended) == [(0, 4, 0, None), (2, None, 0, None)]
    assert committed(bootstrap, group) == {(topic, 0): 0, (topic, 1): 3, (topic, 2): 0}


def test_to_current_of_what_was_never_committed_is_the_end(bootstrap: str, topic: str, group: str) -> None:
    ended = reset(bootstrap, group, "--to-current", "--topic", f"{topic}:2", "--output", "json")
    assert changes(ended) == [(2, None, 0, "no committed offset, using the end")]
    refused = reset(bootstrap, group, "--shift-by", "1", "--topic", f"{topic}:2")
    assert (refused.code, refused.stdout) == (ExitCode.UNKNOWN_RESOURCE, b"")
    assert "no committed offset to shift" in refused.stderr


@pytest.mark.parametrize("suffix", ["csv", "json"])
def test_exported_offsets_can_be_imported_back(
    bootstrap: str, topic: str, group: str, suffix: str, tmp_path: Path
) -> None:
    file = str(tmp_path / f"offsets.{suffix}")
    assert reset(bootstrap, group, "--to-current", "--export", file).code == 0
    assert reset(bootstrap, group, "--to-latest", "--execute").code == 0
    assert committed(bootstrap, group) == {(topic, 0): 10, (topic, 1): 3}
    back = reset(bootstrap, group, "--from-file", file, "--execute", "--output", "json")
    assert (back.code, changes(back)) == (0, [(0, 10, 4, None), (1, 3, 3, None)])
    assert committed(bootstrap, group) == {(topic, 0): 4, (topic, 1): 3}


def test_a_group_with_members_is_left_alone(bootstrap: str, topic: str, group: str) -> None:
    with join(bootstrap, group, topic, client_id="worker"):
        for more in ((), ("--execute",)):
            ended = reset(bootstrap, group, "--to-earliest", *more)
            assert (ended.code, ended.stdout) == (ExitCode.UNAVAILABLE, b"")
            assert f"cannot reset offsets of group {group} with 1 active member: worker on 127.0.0.1" in ended.stderr
    assert committed(bootstrap, group) == {(topic, 0): 4, (topic, 1): 3}


def test_reset_with_an_unknown_topic_partition_or_group_changes_nothing(
    bootstrap: str, topic: str, group: str, tmp_path: Path
) -> None:
    file = tmp_path / "offsets.csv"
    file.write_text(f"{topic},0,1\nnowhere,0,1\n")
    for arguments, words in [
        (("--to-earliest", "--topic", topic, "--topic", "nowhere"), "UNKNOWN_TOPIC_OR_PARTITION"),
        (("--to-earliest", "--topic", f"{topic}:0,9"), f"topic {topic} has no partition 9"),
        (("--from-file", str(file)), "UNKNOWN_TOPIC_OR_PARTITION"),
    ]:
        ended = reset(bootstrap, group, *arguments, "--execute")
        assert (ended.code, ended.stdout) == (ExitCode.UNKNOWN_RESOURCE, b"")
        assert words in ended.stderr
    unknown = reset(bootstrap, "nowhere", "--to-earliest", "--topic", topic, "--execute")
    assert unknown.code == ExitCode.UNKNOWN_RESOURCE
    assert committed(bootstrap, group) == {(topic, 0): 4, (topic, 1): 3}
    assert committed(bootstrap, "nowhere") == {}


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ((), "no new offset given: use one of --to-earliest"),
        (("--to-earliest", "--to-latest"), "--to-earliest and --to-latest cannot be combined"),
        (("--to-offset", "-1"), "--to-offset"),
        (("--to-datetime", "tomorrow"), "--to-datetime"),
        (("--by-duration", "5"), "5 has no unit"),
        (("--from-file", "nowhere.csv"), "cannot read nowhere.csv"),
        (
            ("--from-file", "x", "--topic", "t"),
            "--from-file cannot be combined with --topic: the file lists the partitions",
        ),
        (("--shift-by", "half"), "--shift-by"),
    ],
)
def test_mistakes_exit_with_2(arguments: tuple[str, ...], words: str) -> None:
    ended = reset("127.0.0.1:1", "g", *arguments)
    assert (ended.code, ended.stdout) == (2, b"")
    assert words in " ".join(ended.stderr.replace("'", "").split())


def test_offsets_are_deleted_when_told_to(bootstrap: str, topic: str, group: str) -> None:
    shown = kctl("groups", "delete-offsets", group, "--topic", f"{topic}:1", "-b", bootstrap)
    assert shown.code == 0
    assert shown.stdout.decode().splitlines()[1].split() == [group, topic, "1", "3", "would", "be", "deleted"]
    assert "dry run: the offsets of 1 partition would be deleted" in shown.stderr
    assert committed(bootstrap, group) == {(topic, 0): 4, (topic, 1): 3}
    done = kctl("groups", "delete-offsets", group, "--topic", f"{topic}:1", "-b", bootstrap, "--execute")
    assert (done.code, done.stderr) == (0, "")
    assert committed(bootstrap, group) == {(topic, 0): 4}
    for missing in (f"{topic}:1", "nowhere"):
        again = kctl("groups", "delete-offsets", group, "--topic", missing, "-b", bootstrap, "--execute")
        assert (again.code, again.stdout) == (ExitCode.UNKNOWN_RESOURCE, b"")
    assert kctl("groups", "delete-offsets", group, "-b", bootstrap).code == ExitCode.USAGE
    assert kctl("groups", "delete-offsets", "nowhere", "--topic", topic, "-b", bootstrap).code == 23


def test_offsets_that_a_member_reads_are_not_deleted(bootstrap: str, topic: str, group: str) -> None:
    with join(bootstrap, group, topic, client_id="worker"):
        ended = kctl("groups", "delete-offsets", group, "--topic", topic, "-b", bootstrap, "--execute")
    assert (ended.code, ended.stdout) == (ExitCode.UNAVAILABLE, b"")
    assert "worker on 127.0.0.1" in ended.stderr
    assert committed(bootstrap, group) == {(topic, 0): 4, (topic, 1): 3}


def test_group_that_does_not_exist_is_created_with_create_alone(bootstrap: str, topic: str) -> None:
    fill(bootstrap, topic, {0: 5})
    words = ("groups", "reset-offsets", f"{topic}-new", "--to-offset", "2", "--topic", f"{topic}:0", "-b", bootstrap)
    refused = kctl(*words, "--execute")
    assert (refused.code, "GROUP_ID_NOT_FOUND" in refused.stderr) == (ExitCode.UNKNOWN_RESOURCE, True), refused
    dry = kctl(*words, "--create")
    assert dry.code == 0
    assert f"group {topic}-new would be created, and 1 of 1 partition would get a new offset" in dry.stderr
    assert committed(bootstrap, f"{topic}-new") == {}
    assert kctl(*words, "--create", "--yes").code == 0
    assert committed(bootstrap, f"{topic}-new") == {(topic, 0): 2}
    nothing = kctl("groups", "reset-offsets", "g", "--to-earliest", "--create", "-b", bootstrap)
    assert (nothing.code, "--create needs --topic or --from-file" in nothing.stderr) == (ExitCode.USAGE, True)


def test_each_change_asks_on_a_terminal(bootstrap: str, topic: str, group: str) -> None:
    reset_words = ("reset-offsets", group, "--to-offset", "1", "--topic", f"{topic}:0")
    forget_words = ("delete-offsets", group, "--topic", f"{topic}:0")
    for words, question, after_yes in (
        (reset_words, f"{topic}-0: 4 -> 1", {(topic, 0): 1, (topic, 1): 3}),
        (forget_words, f"{topic}-0: 1", {(topic, 1): 3}),
        (("delete", group), f"group {group}: committed offsets of 1 partition", {}),
    ):
        before = committed(bootstrap, group)
        for answer, after in ((b"n\r", before), (b"y\r", after_yes)):
            with Terminal("groups", *words, "-b", bootstrap, columns=160, with_stderr=True) as terminal:
                assert question.encode() in terminal.read_until(b"? [y/N] ")
                terminal.type(answer)
                terminal.read_all()
                assert terminal.process.wait(BOUND_S) == 0
            assert committed(bootstrap, group) == after
