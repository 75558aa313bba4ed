"""Responses without an error code that contain impossible values: they are errors, and are retried with a backoff."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import pytest

from kctl.cli.exit_codes import ExitCode
from kctl.client.cluster import TopicPartition
from kctl.client.errors import DeliveryTimeout, RemoteProtocolError
from tests.sim.chaos.replies import Replies
from tests.sim.kit import SimCluster, run
from tests.sim.kit.command_lines import run_line, use_hub

MOST_REQUESTS = 30
"""Number of requests that a client may send in 4 seconds, with a backoff of 100 ms to 1 s."""


@contextmanager
def edited(api: str, edit: Callable[[Any], None]) -> Iterator[list[str]]:
    """Edit all responses of an API; the list grows with each."""
    replies, seen = Replies(), list[str]()

    def on_request(_call: object, request: Any, response: Any) -> None:
        if api == request.NAME and response is not None:
            seen.append(api)
            edit(response)

    replies.on_request(on_request)
    with replies.installed():
        yield seen


def test_producer_without_a_valid_id_sends_no_records_and_names_the_response() -> None:
    def edit(response: Any) -> None:
        response.producer_id = -1

    def app(cluster: SimCluster) -> None:
        limits = {"delivery.timeout.ms": 4000, "request.timeout.ms": 1000, "linger.ms": 0}
        with edited("InitProducerId", edit) as seen, cluster.producer(limits) as producer:
            error = producer.send("t", b"x").exception(6)
            assert isinstance(error, DeliveryTimeout)
            assert isinstance(error.cause, RemoteProtocolError)
            assert "contains id -1, epoch 0" in str(error.cause)
            assert 1 < len(seen) < MOST_REQUESTS

    assert run(app).values(0) == []


def no_offsets(response: Any) -> None:
    for topic in response.topics:
        for part in topic.partitions:
            part.offset = part.timestamp = -1


@pytest.mark.parametrize(
    "line",
    [
        "consume t -e",
        "topics offsets t",
        "topics trim t --before latest --execute",
        "groups lag g",
        "groups reset-offsets g --topic t --to-earliest --execute",
        "groups reset-offsets g --topic t --to-latest --execute",
        "why topic t",
    ],
)
def test_partitions_without_a_first_and_next_offset_fail_commands(line: str, monkeypatch: pytest.MonkeyPatch) -> None:
    def app(cluster: SimCluster) -> None:
        cluster.write(0, 3)
        cluster.commit("g", {("t", 0): 1})
        use_hub(monkeypatch, cluster)
        with edited("ListOffsets", no_offsets):
            ended = run_line(cluster, line)
        assert "-1 is not an offset" in ended.stderr + ended.stdout.decode()
        assert ended.code in (ExitCode.WRONG_PROTOCOL, ExitCode.PARTIAL_FAILURE), ended

    run(app)


def test_time_after_the_last_record_has_no_offset() -> None:
    def app(cluster: SimCluster) -> None:
        with edited("ListOffsets", no_offsets), cluster.admin() as admin:
            assert admin.list_offsets({TopicPartition("t", 0): 5}).done[TopicPartition("t", 0)].offset == -1

    run(app)


def test_consumer_without_a_position_gets_the_error_and_pauses() -> None:
    def app(cluster: SimCluster) -> None:
        consumer = cluster.consumer()
        consumer.assign([TopicPartition("t", 0)])
        errors = 0
        with edited("ListOffsets", no_offsets) as seen:
            until_ms = cluster.hub.now_ms + 4000
            while cluster.hub.now_ms < until_ms:
                try:
                    consumer.poll(0.5)
                except RemoteProtocolError:
                    errors += 1
        assert 1 < errors <= len(seen) < MOST_REQUESTS
        consumer.close()

    run(app)


def test_trimmed_partition_without_a_first_offset_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    def edit(response: Any) -> None:
        response.topics[0].partitions[0].low_watermark = -1

    def app(cluster: SimCluster) -> None:
        cluster.write(0, 3)
        use_hub(monkeypatch, cluster)
        with edited("DeleteRecords", edit):
            ended = run_line(cluster, "topics trim t --before latest --execute")
        assert "-1 is not an offset" in ended.stderr
        assert ended.code == ExitCode.WRONG_PROTOCOL, ended

    run(app)


@pytest.mark.parametrize("interval_ms", [0, -5])
def test_heartbeats_without_an_interval_are_rare(interval_ms: int) -> None:
    def edit(response: Any) -> None:
        response.heartbeat_interval_ms = interval_ms

    def app(cluster: SimCluster) -> None:
        with edited("ConsumerGroupHeartbeat", edit) as seen, cluster.kip_848_member("g") as member:
            until_ms = cluster.hub.now_ms + 4000
            while cluster.hub.now_ms < until_ms:
                member.poll(0.5)
            assert 10 < len(seen) < 60

    run(app)
