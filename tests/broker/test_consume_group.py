"""`kctl consume -g` on Kafka 4.3.1, 3.9.1 and 2.8.2, alone and beside members of kafka-python: sharing, takeover."""

import signal
from collections import Counter
from collections.abc import Callable
from typing import Any

import pytest

from tests.cli.processes import end, kctl, running
from tests.conformance.foreign.group_view import GroupView
from tests.conformance.foreign.numbered_topic import NumberedTopic
from tests.support.bounds import bound
from tests.support.kafka.cluster import KafkaCluster
from tests.support.kafka.waiting import wait_until

PARTITIONS = 4
PATIENCE_MS = bound(60_000)
QUICK = ("-X", "heartbeat.interval.ms=300", "-X", "session.timeout.ms=10000")


@pytest.mark.nightly
@pytest.mark.filterwarnings("ignore")  # kafka-python reads its schemas in a way that Python calls deprecated
def test_consume_shares_a_group_with_kafka_python_and_both_take_over(
    any_kafka: KafkaCluster, caplog: pytest.LogCaptureFixture
) -> None:
    from kafka import KafkaConsumer  # not before the warnings are ignored

    topic = any_kafka.create_topic(partitions=PARTITIONS)
    seen: list[int] = []

    def join() -> Any:
        return KafkaConsumer(
            topic, bootstrap_servers=any_kafka.bootstrap(), group_id=topic, auto_offset_reset="earliest",
            heartbeat_interval_ms=300, session_timeout_ms=10_000,
        )  # fmt: skip

    def read_until(theirs: Any, is_done: Callable[[], bool], what: str) -> None:
        def look() -> bool:
            seen.extend(int(one.value) for records in theirs.poll(timeout_ms=100).values() for one in records)
            return is_done()

        wait_until(look, PATIENCE_MS, what)

    with (
        GroupView(any_kafka.bootstrap()) as view,
        NumberedTopic(any_kafka.bootstrap(), topic, PARTITIONS, 20) as numbered,
    ):

        def committed() -> dict[int, int]:
            return view.committed(topic, topic, PARTITIONS)

        with running("consume", topic, "-b", any_kafka.bootstrap(), "-g", topic, *QUICK) as ours:
            wait_until(lambda: len(committed()) == PARTITIONS, PATIENCE_MS, "commits of kctl")
            theirs = join()
            read_until(theirs, lambda: len(theirs.assignment()) == 2 and len(seen) > 20, "equal shares")
            theirs.close()
            stood = committed()
            wait_until(
                lambda: all(offset > stood[partition] for partition, offset in committed().items()),
                PATIENCE_MS,
                "kctl to take over",
            )
            theirs = join()
            read_until(theirs, lambda: len(theirs.assignment()) == 2, "equal shares again")
            ended = end(ours, signal.SIGINT)
            assert ended.code == 130
        read_until(theirs, lambda: len(theirs.assignment()) == PARTITIONS, "kafka-python to take over")
        ends = numbered.stop()
        read_until(theirs, lambda: len(seen) + len(ended.stdout.split()) >= sum(ends.values()), "the rest")
        theirs.close()
        assert committed() == ends
    ours_seen = [int(number) for number in ended.stdout.split()]
    times = Counter([*seen, *ours_seen])
    missing = set(range(sum(ends.values()))) - set(times)
    again = {number: (seen.count(number), ours_seen.count(number)) for number in times if times[number] > 1}
    failed = [each.getMessage() for each in caplog.records if "ommit failed" in each.getMessage()]
    text = f"every record once; again: times by kafka-python and by kctl; commits that failed in kafka-python: {failed}"
    assert (missing, again) == (set(), {}), text


@pytest.mark.nightly
@pytest.mark.parametrize("protocol", ["classic", "consumer"])
def test_having_nothing_yet_is_not_the_end(kafka_newest: KafkaCluster, protocol: str) -> None:
    """The coordinator of KIP-848 gathers changes for a second, and tells who comes meanwhile that it has nothing."""
    topic = kafka_newest.create_topic(partitions=1)
    lines = b"".join(b"%d\n" % number for number in range(50))
    assert kctl("produce", topic, "-b", kafka_newest.bootstrap(), "-q", stdin=lines).code == 0
    member = ("-b", kafka_newest.bootstrap(), "-g", topic, "-X", f"group.protocol={protocol}", "-e")
    for first in range(0, 50, 10):
        ended = kctl("consume", topic, *member, "-n", "10")
        assert (ended.code, list(map(int, ended.stdout.split()))) == (0, list(range(first, first + 10)))
    assert kctl("consume", topic, *member).stdout == b""
