"""`kctl consume -g`: what was written is committed and nothing else; two members share; a closed pipe loses nothing."""

import json
import signal

import pytest

from kctl.cli.exit_codes import ExitCode
from kctl.client.broker_errors import ErrorCode
from kctl.sandbox import Fault, Sandbox
from kctl.sandbox.server import ServedSandbox
from tests.cli.processes import end, kctl, running
from tests.support.bounds import bound


def committed(cluster: ServedSandbox, group: str) -> int:
    return sum(each.offset for each in cluster.sandbox.cluster.groups.offsets.get(group, {}).values())


def produce(bootstrap: str, topic: str, count: int, first: int = 0) -> None:
    lines = b"".join(b"%d\n" % i for i in range(first, first + count))
    assert kctl("produce", topic, "-b", bootstrap, "-q", stdin=lines).code == 0


def test_a_group_goes_on_where_it_stopped(cluster: ServedSandbox, bootstrap: str, topic: str) -> None:
    produce(bootstrap, topic, 100)
    first = kctl("consume", topic, "-b", bootstrap, "-g", topic, "-e")
    assert (first.code, first.stderr) == (0, "")
    assert sorted(map(int, first.stdout.split())) == list(range(100))
    assert committed(cluster, topic) == 100
    nothing_new = "kctl consume: note: no records printed: no records after the start offset\n"
    assert kctl("consume", topic, "-b", bootstrap, "-g", topic, "-e") == (0, b"", nothing_new)
    produce(bootstrap, topic, 7, first=100)
    again = kctl("consume", topic, "-b", bootstrap, "-g", topic, "-e")
    assert sorted(map(int, again.stdout.split())) == list(range(100, 107))


def test_a_limit_commits_no_further_than_what_it_wrote(cluster: ServedSandbox, bootstrap: str, topic: str) -> None:
    produce(bootstrap, topic, 50)
    seen: list[int] = []
    for _ in range(5):
        part = kctl("consume", topic, "-b", bootstrap, "-g", topic, "-n", "10")
        assert part.code == 0
        seen += map(int, part.stdout.split())
        assert committed(cluster, topic) == len(seen)
    assert sorted(seen) == list(range(50))


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGHUP])
def test_signal_commits_what_was_written_and_leaves_the_group(
    cluster: ServedSandbox, bootstrap: str, topic: str, number: signal.Signals
) -> None:
    produce(bootstrap, topic, 10)
    with running("consume", topic, "-b", bootstrap, "-g", topic) as process:
        assert process.stdout is not None
        lines = [process.stdout.readline() for _ in range(10)]
        produce(bootstrap, topic, 1, first=10)
        lines.append(process.stdout.readline())
        ended = end(process, number)
    assert sorted(map(int, lines)) == list(range(11))
    assert (ended.code, ended.stdout) == (128 + number, b"")
    members = kctl("groups", "members", topic, "-b", bootstrap, "--output", "json")
    assert json.loads(members.stdout)["rows"] == []
    assert committed(cluster, topic) in (10, 11), "all but a record that was being written when the signal came"


def test_a_closed_pipe_commits_nothing_that_was_not_read(cluster: ServedSandbox, bootstrap: str, topic: str) -> None:
    produce(bootstrap, topic, 5)
    with running("consume", topic, "-b", bootstrap, "-g", topic) as process:
        assert process.stdout is not None
        for _ in range(5):
            process.stdout.readline()
        process.stdout.close()
        produce(bootstrap, topic, 5, first=5)
        process.wait(bound(30))
    rest = kctl("consume", topic, "-b", bootstrap, "-g", topic, "-e")
    assert {5, 6, 7, 8, 9} <= set(map(int, rest.stdout.split())), "what the reader did not take comes again"


def test_reader_that_exits_early_is_noted_where_offsets_are_committed(bootstrap: str, topic: str) -> None:
    produce(bootstrap, topic, 5)
    with running("consume", topic, "-b", bootstrap, "-g", topic, "-o", "start") as process:
        assert process.stdout is not None
        process.stdout.readline()
        process.stdout.close()
        assert process.wait(bound(30)) == 0
        assert process.stderr is not None
        assert b"exited, and may not have read the last committed records" in process.stderr.read()


def test_two_members_share_and_one_takes_over(bootstrap: str, topic: str) -> None:
    with (
        running("consume", topic, "-b", bootstrap, "-g", topic, "-X", "heartbeat.interval.ms=200") as one,
        running("consume", topic, "-b", bootstrap, "-g", topic, "-X", "heartbeat.interval.ms=200", "-n", "1") as other,
    ):
        assert one.stdout is not None
        assert other.stdout is not None
        produced = 0
        while other.poll() is None:
            produce(bootstrap, topic, 30, first=produced)
            produced += 30
        got = [int(line) for line in other.stdout]
        assert len(got) == 1
        lines = [int(one.stdout.readline()) for _ in range(produced - 1)]
        assert sorted(lines + got) == list(range(produced))
        end(one, signal.SIGINT)


@pytest.mark.parametrize(
    ("arguments", "text"),
    [
        (("-p", "0"), "--partition cannot be combined with --group"),
        (("-o", "stored-5"), "which starts at the committed offsets"),
        (("--tail", "5"), "--tail cannot be combined with --offset, --from-beginning, or --group"),
        (("-X", "enable.auto.commit=true"), "kctl consume commits offsets after printing the records"),
    ],
)
def test_consume_with_group_rejects_options_that_the_group_decides(arguments: tuple[str, ...], text: str) -> None:
    refused = kctl("consume", "t", "-b", "127.0.0.1:1", "-g", "g", *arguments)
    assert refused.code == ExitCode.USAGE
    assert text in " ".join(refused.stderr.split())


def test_no_coordinator_ends_by_the_limit_with_its_cause() -> None:
    with Sandbox(nodes=1, topics={"t": 1}).serve() as served:
        served.sandbox.trouble_coordinator("g", ErrorCode.COORDINATOR_NOT_AVAILABLE)
        ended = kctl("consume", "t", "-b", served.bootstrap, "-g", "g", "--api-timeout", "1s")
        assert ended.code == ExitCode.UNAVAILABLE
        assert "COORDINATOR_NOT_AVAILABLE" in ended.stderr


def test_a_frozen_coordinator_does_not_hold_up_the_end() -> None:
    with Sandbox(nodes=1, topics={"t": 1}).serve() as served:
        produce(served.bootstrap, "t", 3)
        with running("consume", "t", "-b", served.bootstrap, "-g", "g", "--close-timeout", "1s") as process:
            assert process.stdout is not None
            for _ in range(3):
                process.stdout.readline()
            served.sandbox.start_fault(1, Fault.FREEZE)
            ended = end(process, signal.SIGINT)
        assert ended.code == ExitCode.SIGINT


@pytest.mark.parametrize(("start", "is_noted"), [("start", True), ("5", True), (":7", False)])
def test_start_that_committed_offsets_replace_is_noted(bootstrap: str, topic: str, start: str, is_noted: bool) -> None:
    produce(bootstrap, topic, 10)
    arguments = ("consume", topic, "-b", bootstrap, "-g", topic, "-e", "-o", start)
    note = (
        f"kctl consume: note: -o does not set the start, because group {topic} has committed offsets. To change them, "
        f"use kctl groups reset-offsets {topic}"
    )
    assert note not in kctl(*arguments).stderr, "nothing is committed yet"
    again = kctl(*arguments)
    assert (again.code, again.stderr.splitlines().count(note)) == (0, int(is_noted))
    assert note not in kctl(*arguments, "-q").stderr
