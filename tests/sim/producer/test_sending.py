"""Requests of a producer: nodes, in-flight limits, throttling, leaders in errors, and unused topics."""

import sys

import pytest

from kctl.client.events import Event, Lost, RequestExpired, RequestSent, Throttled
from kctl.client.producer import Producer, ProducerRecord
from kctl.sandbox import Fault
from kctl.sandbox.quotas import Quota
from tests.sim.kit import SimCluster, run
from tests.sim.virtual.selector import SimSelector


def watched(cluster: SimCluster, properties: dict[str, object]) -> tuple[Producer, list[Event]]:
    """A producer and its events."""
    events: list[Event] = []
    return Producer(
        {"bootstrap.servers": cluster.bootstrap, **properties}, cluster.runtime, events=events.append
    ), events


@pytest.mark.parametrize("window", [1, 2, 5])
def test_a_node_has_no_more_requests_in_flight_than_allowed_and_a_partition_uses_them_all(window: int) -> None:
    def app(cluster: SimCluster) -> None:
        limit = {"max.in.flight.requests.per.connection": window}
        producer, events = watched(cluster, {"batch.size": 0, "linger.ms": 0, **limit})
        producer.send("t", b"first").result()
        cluster.sandbox.start_fault(cluster.leader(0), Fault.FREEZE)
        for number in range(20):
            producer.send("t", b"%d" % number)
        cluster.hub.sleep_ms(100)
        produced = [event for event in events if isinstance(event, RequestSent) and event.api == "Produce"]
        assert len(produced) == 1 + window
        assert producer.metrics().batches_in_flight == window
        cluster.sandbox.heal()
        producer.flush()
        producer.close()

    assert run(app).values(0) == [b"first", *(b"%d" % number for number in range(20))]


@pytest.mark.parametrize("window", [1, 5])
def test_records_that_cannot_be_sent_before_a_response_do_not_wake_the_network_loop(
    window: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    woken_at_ms: list[int] = []
    wakeup = SimSelector.wakeup

    def app(cluster: SimCluster) -> None:
        def counted(selector: SimSelector) -> None:
            woken_at_ms.append(cluster.hub.now_ms)
            wakeup(selector)

        limit = {"max.in.flight.requests.per.connection": window}
        producer, _ = watched(cluster, {"batch.size": 0, "linger.ms": 0, "buffer.memory": 4000, **limit})
        producer.send("t", b"0").result()
        cluster.sandbox.start_fault(cluster.leader(0), Fault.DELAY, ms=90)
        for number in range(window):
            producer.send("t", b"%d" % (1 + number))
        cluster.hub.sleep_ms(5)
        monkeypatch.setattr(SimSelector, "wakeup", counted)
        for number in range(1 + window, 21):
            producer.send("t", b"%d" % number)
            cluster.hub.sleep_ms(1)
        assert woken_at_ms == []
        for number in range(21, 121):  # more than buffer.memory holds: each waits for the record that makes room
            producer.send("t", b"%d" % number)
        in_wait = len(woken_at_ms)
        producer.flush()
        assert len(woken_at_ms) > in_wait
        assert in_wait < 20
        assert producer.close().delivered == 121

    assert run(app).values(0) == [b"%d" % number for number in range(121)]


def test_a_throttled_node_is_left_alone_and_what_it_has_does_not_expire() -> None:
    """The broker throttles the client for longer than request.timeout.ms; pending requests do not expire."""

    def app(cluster: SimCluster) -> None:
        producer, events = watched(cluster, {"batch.size": 0, "linger.ms": 0, "request.timeout.ms": 1000})
        producer.send("t", b"first").result()
        cluster.sandbox.limit(Quota.PRODUCE, 1000)
        futures = [producer.send("t", bytes(1000)) for _ in range(20)]
        producer.flush()
        assert all(future.exception(0) is None for future in futures)
        assert [event for event in events if isinstance(event, RequestExpired | Lost)] == []
        throttled = [event for event in events if isinstance(event, Throttled)]
        assert max(event.throttle_ms for event in throttled) > 1000
        assert producer.metrics().throttle_time_ms == sum(event.throttle_ms for event in throttled)
        sent_at_ms = [event.at_ms for event in events if isinstance(event, RequestSent) and event.api == "Produce"]
        for event in throttled:
            until_ms = event.at_ms + event.throttle_ms
            assert not any(event.at_ms < at_ms < until_ms for at_ms in sent_at_ms)
        assert producer.metrics().batches_retried == 0
        producer.close()

    assert len(run(app).values(0)) == 21


def test_a_record_that_cannot_be_encoded_is_refused_and_harms_no_other() -> None:
    def app(cluster: SimCluster) -> None:
        producer, _ = watched(cluster, {"linger.ms": 5})
        before = producer.send("t", b"before", partition=0)
        with pytest.raises(ValueError, match="timestamp_ms"):
            producer.send("t", b"", partition=0, timestamp_ms=2**63)
        with pytest.raises(ValueError, match="header name"):
            producer.send("t", b"", partition=0, headers=[("\ud800", b"")])
        headers: list[tuple[str, bytes | None]] = [("good", b"")]
        after = producer.send("t", b"after", partition=0, headers=headers)
        headers[0] = ("\ud800", b"")
        producer.flush()
        assert before.result().offset + 1 == after.result().offset
        producer.close()

    assert run(app).values(0) == [b"before", b"after"]


def test_clock_before_1970_refuses_records_without_a_timestamp_and_the_producer_goes_on() -> None:
    def app(cluster: SimCluster) -> None:
        producer = cluster.producer()
        producer.partitions_for("t")
        away_ms = cluster.clock.wall_ms() + 1
        cluster.hub.jump_wall(-away_ms)
        with pytest.raises(ValueError, match="the clock of this machine"):
            producer.send("t", b"refused", partition=0)
        with pytest.raises(ValueError, match="the clock of this machine"):
            producer.send_columns("t", [b"refused"], partition=0)
        with pytest.raises(ValueError, match="the clock of this machine"):
            producer.send_columns("t", [b"refused", b"too"], partition=0, timestamps_ms=[5, None])
        producer.send("t", b"one", partition=0, timestamp_ms=5).result()
        producer.send_columns("t", [b"two"], partition=0, timestamps_ms=[5]).result()
        cluster.hub.jump_wall(away_ms)
        producer.send("t", b"three", partition=0).result()
        result = producer.close()
        assert (result.delivered, result.undelivered) == (3, 0)

    assert run(app).values(0) == [b"one", b"two", b"three"]


def test_headers_none_and_an_empty_list_that_the_caller_fills_are_no_headers() -> None:
    def app(cluster: SimCluster) -> None:
        producer, _ = watched(cluster, {"linger.ms": 5})
        kept: list[tuple[str, bytes | None]] = []
        producer.send("t", b"0", partition=0)
        futures = [
            producer.send("t", b"1", headers=None),
            producer.send("t", b"2", key=b"k", headers=None),
            producer.send("t", b"3", headers=kept),
            producer.send(ProducerRecord("t", b"4", headers=None)),
        ]
        columns = producer.send_columns("t", [b"5"], headers=[None])
        kept.append(("late", 5))  # type: ignore[arg-type] # neither sent nor checked
        producer.flush()
        assert [future.exception() for future in futures] == [None] * 4
        assert columns.result() == 1
        producer.close()

    run(app)


def test_exit_in_a_callback_is_logged_and_the_producer_continues() -> None:
    def app(cluster: SimCluster) -> None:
        producer, _ = watched(cluster, {})
        first = producer.send("t", b"1", partition=0, callback=lambda _: sys.exit(7))
        assert first.exception() is None
        assert producer.send("t", b"2", partition=0).result().offset == 1
        producer.close()

    assert run(app).values(0) == [b"1", b"2"]


def test_a_new_leader_that_the_old_one_names_needs_no_metadata() -> None:
    """Source: KIP-951."""

    def app(cluster: SimCluster) -> None:
        producer, events = watched(cluster, {"linger.ms": 0})
        producer.send("t", b"0").result()
        leader = cluster.leader(0)
        cluster.sandbox.move_leader("t", 0, 1 if leader != 1 else 2)
        asked = sum(isinstance(event, RequestSent) and event.api == "Metadata" for event in events)
        before_ms = cluster.clock.now_ms()
        producer.send("t", b"1").result()
        assert cluster.clock.now_ms() - before_ms < 20, "no back-off either"
        assert sum(isinstance(event, RequestSent) and event.api == "Metadata" for event in events) == asked
        producer.close()

    assert run(app).values(0) == [b"0", b"1"]


def test_a_topic_that_is_not_used_is_forgotten_until_it_is_used_again() -> None:
    def app(cluster: SimCluster) -> None:
        producer = cluster.producer({"metadata.max.idle.ms": 5000, "metadata.max.age.ms": 1000})
        producer.send("t", b"0").result()
        producer.send("u", b"0").result()
        for _ in range(8):
            cluster.hub.sleep_ms(1000)
            producer.send("t", b"x").result()
        assert list(producer._client.metadata.cluster.topics) == ["t"]
        cluster.hub.sleep_ms(7000)
        assert dict(producer._client.metadata.cluster.topics) == {}
        assert producer.send("u", b"1").result().offset == 1
        producer.close()

    run(app, topics={"t": 1, "u": 1})


def test_the_counts_of_a_producer_add_up() -> None:
    def app(cluster: SimCluster) -> None:
        properties: dict[str, object] = {"compression.type": "zstd", "linger.ms": 20, "batch.size": 1000}
        producer, events = watched(cluster, properties)
        producer.partitions_for("u")
        for number in range(50):
            producer.send("t", b"a" * 200)
            if number % 2:
                producer.send("u", b"b" * 100)
        producer.flush()
        cluster.sandbox.start_fault(cluster.leader(0), Fault.RESET_ON_REQUEST)
        producer.send("t", b"again")
        cluster.at(200, cluster.sandbox.heal)
        producer.flush()
        metrics = producer.metrics()
        assert (metrics.records_sent, metrics.records_delivered, metrics.records_failed) == (76, 76, 0)
        assert (metrics.topics["t"].records_delivered, metrics.topics["u"].records_delivered) == (51, 25)
        assert metrics.topics["t"].batches_sent + metrics.topics["u"].batches_sent == metrics.batches_sent > 10
        assert metrics.batches_retried == metrics.topics["t"].batches_retried >= 1
        assert metrics.requests_sent == sum(isinstance(e, RequestSent) and e.api == "Produce" for e in events)
        assert 0 < metrics.compression_ratio < 0.6
        assert metrics.queue_time_avg_ms <= metrics.queue_time_max_ms <= 20 + 10
        assert (metrics.records_outstanding, metrics.buffer_used_bytes) == (0, 0)
        logs = [cluster.sandbox.cluster.topics[topic].partitions[0].log for topic in ("t", "u")]
        assert metrics.bytes_sent == sum(len(batch.data) for log in logs for batch in log.batches)
        producer.close()

    run(app, topics={"t": 1, "u": 1})


def test_record_that_lingers_wakes_the_loop_once_and_a_full_batch_leaves_at_once() -> None:
    def app(cluster: SimCluster) -> None:
        producer = cluster.producer({"linger.ms": 50, "batch.size": 1000})
        producer.send("t", b"warm", partition=0).result()
        cluster.hub.sleep_ms(100)
        wakes: list[int] = []
        wakeup = producer._mailbox._wakeup

        def counted() -> None:
            wakes.append(cluster.clock.now_ms())
            wakeup()

        producer._mailbox._wakeup = counted
        done: list[int] = []

        def send(value: bytes) -> None:
            producer.send("t", value, partition=0, callback=lambda _: done.append(cluster.clock.now_ms() - began_ms))

        began_ms = cluster.clock.now_ms()
        for number in range(5):
            send(b"%d" % number)
            cluster.hub.sleep_ms(1)
        assert len(wakes) == 1
        cluster.hub.sleep_ms(95)
        assert len(done) == 5
        assert all(50 <= each < 60 for each in done)
        done.clear()
        began_ms = cluster.clock.now_ms()
        for _ in range(2):
            send(bytes(600))
            cluster.hub.sleep_ms(1)
        cluster.hub.sleep_ms(20)
        assert len(done) == 1  # the batch that the second record does not fit into
        assert len(wakes) == 3
        producer.close()

    run(app)
