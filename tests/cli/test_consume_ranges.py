"""`kctl consume -o`, `-e`, `--tail` and `--idle-timeout` on a sandbox, inside the test's process."""

import pytest

from kctl.cli.exit_codes import ExitCode
from kctl.client.producer import Producer
from kctl.sandbox.server import ServedSandbox
from tests.cli.processes import Ended, kctl
from tests.cli.records import send, send_marker

DAY_MS = 86_400_000
FIRST_MS = 1_714_521_600_000
"""2024-05-01"""


@pytest.fixture
def days(bootstrap: str, topic: str) -> str:
    """Partition 0 has ten records, one a day from 2024-05-01 on; partition 1 has three of the first day."""
    send(bootstrap, topic, 0, [f"a{day}" for day in range(10)], [FIRST_MS + day * DAY_MS for day in range(10)])
    send(bootstrap, topic, 1, ["b0", "b1", "b2"], [FIRST_MS, FIRST_MS + 1, FIRST_MS + 2])
    return topic


def consume(*arguments: str) -> Ended:
    return kctl("consume", *arguments, "--api-timeout", "20s")


def a(*numbers: int) -> list[str]:
    return [f"a{number}" for number in numbers]


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        (("-o", "2:5", "-p", "0"), a(2, 3, 4)),
        (("-o", "start+8:", "-e", "-p", "0"), a(8, 9)),
        (("-o", ":end-8", "-p", "0"), a(0, 1)),
        (("-o", "-2:end", "-p", "0"), a(8, 9)),
        (("-o", "@2024-05-03:2024-05-05", "-p", "0"), a(2, 3)),
        (("-o", "@2024-05-03:2d", "-p", "0"), a(2, 3)),
        (("-o", "@2024-05-08:PT24H", "-p", "0"), a(7)),
        (("-o", "@2024-05-09:end", "-p", "0"), a(8, 9)),
        (("-o", "@2024-05-09", "-e", "-p", "0"), a(8, 9)),
        (("-o", "s@1714694400000", "-o", "e@1714780800000", "-p", "0"), a(2)),
        (("-o", "end:", "-o", "0=9:10", "-e"), a(9)),
        (("-o", "0=1:2", "-o", "1=2:3", "-o", "2=:end"), ["a1", "b2"]),
        (("-o", "7:7", "-p", "0"), []),
        (("-o", "0:99", "-e", "-n", "3", "-p", "0"), a(0, 1, 2)),
    ],
    ids=lambda part: " ".join(part),
)
def test_ranges(bootstrap: str, days: str, options: tuple[str, ...], expected: list[str]) -> None:
    ended = consume(days, "-b", bootstrap, *options)
    assert (ended.code, sorted(ended.stdout.decode().split()), ended.stderr) == (0, sorted(expected), "")


def test_an_end_in_the_future_is_waited_for(bootstrap: str, days: str) -> None:
    ended = consume(days, "-b", bootstrap, "-p", "0", "-o", "8:12", "--idle-timeout", "2s")
    assert (ended.code, ended.stdout) == (0, b"a8\na9\n")
    assert ended.stderr.endswith("no records for 2s (--idle-timeout): at the end of the partition\n")


def test_an_offset_for_a_partition_that_is_not_there(bootstrap: str, days: str) -> None:
    ended = consume(days, "-b", bootstrap, "-e", "-o", "7=5")
    assert ended.code == ExitCode.UNKNOWN_RESOURCE
    assert "-o 7=5 does not match any partition to read" in ended.stderr


def test_stored_offsets_are_read_without_joining(cluster: ServedSandbox, bootstrap: str, days: str) -> None:
    assert consume(days, "-b", bootstrap, "-g", days, "-n", "10").code == 0
    group = ("-b", bootstrap, "-X", f"group.id={days}")
    rest = consume(days, *group, "-o", "stored", "-e")
    assert len(rest.stdout.split()) == 3
    again = consume(days, *group, "-o", "stored-1:stored")
    assert len(again.stdout.split()) <= 3
    assert rest.code == again.code == 0
    committed = cluster.sandbox.cluster.groups.offsets[days]
    assert sum(each.offset for each in committed.values()) == 10, "reading so commits nothing"


@pytest.mark.parametrize("isolation", ["read_committed", "read_uncommitted"])
@pytest.mark.parametrize("group", [(), ("-g", "{topic}")], ids=["alone", "group"])
def test_the_end_is_reached_over_markers(
    cluster: ServedSandbox, bootstrap: str, topic: str, isolation: str, group: tuple[str, ...]
) -> None:
    send(bootstrap, topic, 0, ["x", "y"])
    for partition in (0, 0, 1):
        send_marker(cluster, topic, partition)
    member = [part.format(topic=topic) for part in group]
    ended = consume(topic, "-b", bootstrap, "-e", "--isolation-level", isolation, *member)
    assert ended == (0, b"x\ny\n", "")


@pytest.mark.parametrize("group", [(), ("-g", "{topic}")], ids=["alone", "group"])
def test_the_end_is_reached_where_all_is_deleted(
    cluster: ServedSandbox, bootstrap: str, topic: str, group: tuple[str, ...]
) -> None:
    send(bootstrap, topic, 0, ["x", "y", "z"])
    cluster.sandbox.delete_records(topic, 0, 3)
    ended = consume(topic, "-b", bootstrap, "-e", *(part.format(topic=topic) for part in group))
    assert ended == (0, b"", "kctl consume: note: no records printed: all partitions are empty\n")


# --- the newest -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        (("--tail", "0"), []),
        (("--tail", "3"), a(7, 8, 9)),
        (("--tail", "9"), a(1, 2, 3, 4, 5, 6, 7, 8, 9)),
        (("--tail", "11"), ["b1", "b2", *a(1, 2, 3, 4, 5, 6, 7, 8, 9)]),
        (("--tail", "12"), ["b0", "b1", "b2", *a(1, 2, 3, 4, 5, 6, 7, 8, 9)]),
        (("--tail", "99"), ["a0", "b0", "b1", "b2", *a(1, 2, 3, 4, 5, 6, 7, 8, 9)]),
        (("--tail", "2", "-p", "1"), ["b1", "b2"]),
        (("--tail", "4", "-n", "2"), a(6, 7)),
        (("--tail", "3", "--follow", "--idle-timeout", "300ms"), a(7, 8, 9)),
    ],
    ids=lambda part: " ".join(part),
)
def test_the_newest_in_total(bootstrap: str, days: str, options: tuple[str, ...], expected: list[str]) -> None:
    ended = consume(days, "-b", bootstrap, *options)
    assert (ended.code, ended.stdout.decode().split()) == (0, expected)


def test_the_newest_are_found_behind_markers(cluster: ServedSandbox, bootstrap: str, topic: str) -> None:
    send(bootstrap, topic, 0, ["x", "y", "z"])
    for _ in range(20):
        send_marker(cluster, topic, 0)
    ended = consume(topic, "-b", bootstrap, "--tail", "2", "-f", "%i:%v\\n")
    assert ended == (0, b"1:y\n2:z\n", "")


def test_the_newest_of_nothing(bootstrap: str, topic: str) -> None:
    assert consume(topic, "-b", bootstrap, "--tail", "5") == (0, b"", "")


def test_exit_at_end_of_an_empty_topic_says_so(bootstrap: str, topic: str) -> None:
    assert consume(topic, "-b", bootstrap, "-e") == (
        0,
        b"",
        "kctl consume: note: no records printed: all partitions are empty\n",
    )
    assert consume(topic, "-b", bootstrap, "-e", "-q") == (0, b"", "")


@pytest.mark.parametrize("limit", [("--tail", "0"), ("-n", "0")], ids=" ".join)
def test_exit_at_end_with_a_limit_of_no_records_notes_nothing(
    bootstrap: str, topic: str, limit: tuple[str, str]
) -> None:
    send(bootstrap, topic, 0, ["x", "y", "z"])
    assert consume(topic, "-b", bootstrap, "-e", *limit) == (0, b"", "")


def test_exit_at_end_behind_the_last_record_or_without_a_match_says_so(bootstrap: str, topic: str) -> None:
    send(bootstrap, topic, 0, ["x"])
    ended = consume(topic, "-b", bootstrap, "-e", "-o", "@2099-01-01")
    assert ended == (0, b"", "kctl consume: note: no records printed: no records after the start offset\n")
    ended = consume(topic, "-b", bootstrap, "-e", "--grep", "nomatch")
    assert ended == (0, b"", "kctl consume: note: no records printed: 1 record read, but none matched --grep or --jq\n")


@pytest.mark.parametrize("group", [(), ("-g", "open", "-o", "start")], ids=["alone", "group"])
def test_exit_at_end_behind_an_open_transaction_says_where(bootstrap: str, topic: str, group: tuple[str, ...]) -> None:
    send(bootstrap, topic, 0, ["before"])
    config = {"bootstrap.servers": bootstrap, "transactional.id": topic}
    with Producer(config) as producer:
        producer.init_transactions()
        producer.begin_transaction()
        producer.send(topic, b"hidden", partition=0)
        producer.flush()
        code, stdout, stderr = consume(topic, "-b", bootstrap, "-e", "--isolation-level", "read_committed", *group)
        producer.abort_transaction()
    assert (code, stdout) == (0, b"before\n")
    assert stderr == (
        f"kctl consume: note: {topic}-0: stopped at offset 1, where an open transaction begins. To "
        "continue, use --isolation-level read_uncommitted\n"
    )


def test_offset_of_one_partition_reads_no_other(bootstrap: str, topic: str) -> None:
    for partition in range(3):
        send(bootstrap, topic, partition, ["x", "y"])
    assert consume(topic, "-b", bootstrap, "-o", "1=1:2") == (0, b"y\n", ""), "the others have no end"


def test_partition_without_an_end_beside_one_with_an_end_is_noted(bootstrap: str, topic: str) -> None:
    send(bootstrap, topic, 0, ["x", "y"])
    options = ("-p", "0-2", "-o", "0=0:1", "-o", "1=0:1", "--idle-timeout", "300ms")
    code, stdout, stderr = consume(topic, "-b", bootstrap, *options)
    note = (
        f"kctl consume: note: -o does not set an end for {topic}-2, so kctl reads new records until Ctrl-C. "
        "To exclude partitions, use -p. To stop at the end, use -e"
    )
    assert (code, stdout) == (0, b"x\n")
    assert stderr.splitlines().count(note) == 1
    assert note not in consume(topic, "-b", bootstrap, "-q", *options).stderr
    assert "followed" not in consume(topic, "-b", bootstrap, "-e", *options).stderr
