"""The hook around send: the record that it returns is sent, and its function gets each result once."""

import logging

import pytest

from kctl.client.broker_errors import ErrorCode
from kctl.client.cluster import PartitionInfo
from kctl.client.errors import DeliveryTimeout, IllegalStateError, MaxBlockTimeout, UndeliveredError
from kctl.client.producer import OnSend, OnSent, Producer, ProducerRecord, RecordMetadata, SendFuture
from kctl.sandbox import Fault
from tests.sim.kit import SimCluster, run

Result = tuple[RecordMetadata | None, type[BaseException] | None]


class Journal:
    """A hook that adds a header, and keeps records and results."""

    def __init__(self) -> None:
        self.records: list[ProducerRecord] = []
        self.results: list[Result] = []

    def on_send(self, record: ProducerRecord) -> tuple[ProducerRecord, OnSent]:
        self.records.append(record)
        return record._replace(headers=(*(record.headers or ()), ("n", b"1"))), self.on_sent

    def on_sent(self, metadata: RecordMetadata | None, error: BaseException | None) -> None:
        self.results.append((metadata, None if error is None else type(error)))


def producer_with(cluster: SimCluster, on_send: OnSend, **properties: object) -> Producer:
    config = {"bootstrap.servers": cluster.bootstrap, **{k.replace("_", "."): v for k, v in properties.items()}}
    return cluster.enter(Producer(config, cluster.runtime, on_send=on_send))


def test_returned_record_is_sent_and_its_place_reported_once() -> None:
    journal, called = Journal(), list[SendFuture]()

    def app(cluster: SimCluster) -> None:
        producer = producer_with(cluster, journal.on_send)
        futures = [
            producer.send("t", bytearray(b"a"), b"k", 1, [["h", b"0"]], 5, called.append),
            producer.send(ProducerRecord("t", b"b", partition=1)),
        ]
        places = [future.result(5) for future in futures]
        producer.close(5)
        assert journal.records == [
            ProducerRecord("t", b"a", b"k", 1, (("h", b"0"),), 5),
            ProducerRecord("t", b"b", None, 1, (), None),
        ]
        assert [record.headers for record in cluster.records(1)] == [(("h", b"0"), ("n", b"1")), (("n", b"1"),)]
        assert journal.results == [(place, None) for place in places]
        assert called == futures[:1]

    run(app, topics={"t": 3})


def test_hook_runs_before_the_partitioner_and_may_choose_itself() -> None:
    def app(cluster: SimCluster) -> None:
        def by_header(record: ProducerRecord, partitions: object) -> int:
            return len(record.headers or ())

        producer = cluster.enter(
            Producer(
                {"bootstrap.servers": cluster.bootstrap},
                cluster.runtime,
                partitioner=by_header,
                on_send=lambda record: (record._replace(headers=(("a", b""), ("b", b""))), None),
            )
        )
        assert producer.send("t", b"v").result(5).partition == 2

    run(app, topics={"t": 3})


def test_failure_reaches_the_hook_and_still_counts_as_unknown_to_the_program() -> None:
    def app(cluster: SimCluster) -> None:
        journal = Journal()
        producer = producer_with(cluster, journal.on_send, delivery_timeout_ms=500, request_timeout_ms=300, linger_ms=0)
        producer.partitions_for("t")
        cluster.sandbox.fail_requests("Produce", ErrorCode.REQUEST_TIMED_OUT, times=10_000)
        producer.send("t", b"v", partition=0)
        with pytest.raises(UndeliveredError):
            producer.flush()
        producer.close(5)
        assert journal.results == [(None, DeliveryTimeout)]

    run(app)


def test_record_that_is_not_accepted_reaches_the_hook_with_its_error() -> None:
    def app(cluster: SimCluster) -> None:
        journal = Journal()
        producer = producer_with(cluster, journal.on_send, max_block_ms=700)
        cluster.break_all(Fault.FREEZE)
        with pytest.raises(MaxBlockTimeout):
            producer.send("unknown", b"v")
        assert journal.results == [(None, MaxBlockTimeout)]
        cluster.sandbox.heal()
        with pytest.raises(TypeError, match="value must be bytes"):
            producer.send("t", 7)  # type: ignore[arg-type]
        producer.close(5)
        with pytest.raises(IllegalStateError):
            producer.send("t", b"v")
        assert len(journal.records) == 1, "the hook gets no record that cannot be sent"

    run(app)


def test_error_of_the_hook_comes_out_of_send_and_errors_of_its_function_are_logged(
    caplog: pytest.LogCaptureFixture,
) -> None:
    def app(cluster: SimCluster) -> None:
        def raising(*_: object) -> None:
            raise LookupError("no such tenant")

        def on_send(record: ProducerRecord) -> tuple[ProducerRecord, OnSent]:
            if record.value == b"bad":
                raise LookupError("bad value")
            return record, raising

        producer = producer_with(cluster, on_send, max_block_ms=700)
        with pytest.raises(LookupError, match="bad value"):
            producer.send("t", b"bad")
        assert producer.send("t", b"v").result(5).topic == "t"
        cluster.break_all(Fault.FREEZE)
        with pytest.raises(MaxBlockTimeout):
            producer.send("unknown", b"v")
        cluster.sandbox.heal()
        assert producer.close(5).delivered == 1

    with caplog.at_level(logging.ERROR, "kctl.client.producer"):
        run(app)
    assert [line.getMessage() for line in caplog.records] == [
        "the function returned by on_send raised an exception"
    ] * 2


def test_partitions_of_a_partitioner_and_rows_of_columns_do_not_call_the_hook() -> None:
    def app(cluster: SimCluster) -> None:
        journal = Journal()
        producer = producer_with(cluster, journal.on_send)
        partitions: list[PartitionInfo] = producer.partitions_for("t")
        producer.send_columns("t", [b"v"] * len(partitions)).result(5)
        assert journal.records == []

    run(app)


def test_hook_that_is_not_a_function_is_a_type_error() -> None:
    def app(cluster: SimCluster) -> None:
        with pytest.raises(TypeError, match="on_send"):
            producer_with(cluster, "hook")  # type: ignore[arg-type]

    run(app)
