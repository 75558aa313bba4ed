"""Records arrive once, in order, whatever happens on the way; and each future tells the truth about it."""

import pytest

from kctl.client.broker_errors import error_class
from kctl.client.errors import DeliveryTimeout, KafkaError, RecordTooLargeError, RequestTimeout, UndeliveredError
from kctl.client.producer import SendFuture
from kctl.sandbox import ClusterSettings, Fault
from tests.sim.kit import SimCluster, run


def sent(cluster: SimCluster, count: int, gap_ms: int = 0, **properties: object) -> list[SendFuture]:
    """Send numbered records to t-0, flush and close; return the futures."""
    producer = cluster.producer({key.replace("_", "."): value for key, value in properties.items()})
    futures = []
    for number in range(count):
        futures.append(producer.send("t", b"%d" % number, partition=0))
        if gap_ms:
            cluster.hub.sleep_ms(gap_ms)
    producer.flush()
    producer.close()
    return futures


def numbers(count: int) -> list[bytes | None]:
    return [b"%d" % number for number in range(count)]


def test_offsets_partition_and_timestamp_are_told() -> None:
    def app(cluster: SimCluster) -> None:
        with cluster.producer() as producer:
            futures = [producer.send("t", b"a", timestamp_ms=5), producer.send("t", b"b")]
            producer.flush()
            assert [future.result(0) for future in futures] == [
                ("t", 0, 0, 5),
                ("t", 0, 1, futures[1].timestamp_ms),
            ]

    assert run(app).values(0) == [b"a", b"b"]


@pytest.mark.parametrize("acks", ["all", "1", "0"])
def test_every_kind_of_acknowledgement(acks: str) -> None:
    def app(cluster: SimCluster) -> None:
        futures = sent(cluster, 100, acks=acks)
        assert all(future.exception(0) is None for future in futures)
        assert futures[7].result(0).offset == (-1 if acks == "0" else 7)

    assert run(app).values(0) == numbers(100)


@pytest.mark.parametrize("compression", ["none", "gzip", "snappy", "lz4", "zstd"])
def test_every_compression(compression: str) -> None:
    cluster = run(lambda cluster: assert_delivered(sent(cluster, 50, compression_type=compression)))
    assert cluster.values(0) == numbers(50)


def assert_delivered(futures: list[SendFuture]) -> None:
    assert [future.exception(0) for future in futures] == [None] * len(futures)


def test_linger_gathers_and_flush_does_not_wait_for_it() -> None:
    def app(cluster: SimCluster) -> None:
        producer = cluster.producer({"linger.ms": "50000", "delivery.timeout.ms": "120000"})
        producer.partitions_for("t")
        before_ms = cluster.clock.now_ms()
        futures = [producer.send("t", b"x") for _ in range(3)]
        cluster.hub.sleep_ms(1000)
        assert not any(future.done() for future in futures)
        producer.flush()
        assert cluster.clock.now_ms() - before_ms < 1020
        producer.close()

    cluster = run(app)
    assert len(cluster.sandbox.cluster.topics["t"].partitions[0].log.batches) == 1


def test_a_lingering_batch_leaves_exactly_when_its_linger_is_over() -> None:
    def app(cluster: SimCluster) -> None:
        producer = cluster.producer({"linger.ms": "100"})
        producer.send("t", b"connects everything").result()
        before_ms = cluster.clock.now_ms()
        producer.send("t", b"x").result()
        assert cluster.clock.now_ms() - before_ms == 100 + 2  # and one round trip
        producer.close()

    run(app)


def test_a_full_batch_does_not_linger() -> None:
    def app(cluster: SimCluster) -> None:
        producer = cluster.producer({"linger.ms": "10000", "batch.size": "1000"})
        producer.partitions_for("t")
        before_ms = cluster.clock.now_ms()
        first, *_ = [producer.send("t", bytes(300)) for _ in range(4)]
        first.result()
        assert cluster.clock.now_ms() - before_ms < 20
        producer.close(0)

    run(app)


def test_leader_moves_lose_repeat_and_reorder_nothing() -> None:
    def app(cluster: SimCluster) -> None:
        for at_ms, node_id in ((40, 2), (90, 3), (91, 1), (150, 2)):
            cluster.at(at_ms, lambda node_id=node_id: cluster.sandbox.move_leader("t", 0, node_id))  # type: ignore[misc]  # a bound default
        assert_delivered(sent(cluster, 200, gap_ms=1, linger_ms=0, batch_size=0))

    assert run(app).values(0) == numbers(200)


def test_a_dead_leader_is_left_for_the_next_one() -> None:
    def app(cluster: SimCluster) -> None:
        old = cluster.leader(0)
        new = 1 if old != 1 else 2
        cluster.at(30, lambda: cluster.sandbox.start_fault(old, Fault.RESET_ON_REQUEST))
        cluster.at(500, lambda: cluster.sandbox.move_leader("t", 0, new))
        assert_delivered(sent(cluster, 100, gap_ms=2))

    assert run(app).values(0) == numbers(100)


@pytest.mark.parametrize("acks", ["all", "1"])
def test_a_leader_that_steps_down_may_have_written_what_acks_all_waits_for(acks: str) -> None:
    """The leader returns NOT_LEADER_OR_FOLLOWER for a batch that its follower has: it may not be a certain failure."""

    def app(cluster: SimCluster) -> None:
        cluster.sandbox.create_topic("r", 1, 3)
        cluster.sandbox.move_leader("r", 0, 1)
        producer = cluster.producer({"acks": acks, "delivery.timeout.ms": 3000, "request.timeout.ms": 1000})
        producer.send("r", b"0").result()
        cluster.sandbox.lag_follower("r", 0, 3)
        future = producer.send("r", b"1")
        cluster.hub.sleep_ms(100)
        if acks == "1":
            assert future.result(0).offset == 1
            producer.close()
            return
        cluster.sandbox.start_fault(2, Fault.REFUSE)  # which is to lead: the batch never comes there again
        for connection in cluster.network.connections_of(ip="10.0.0.2"):
            connection.cut()
        cluster.sandbox.move_leader("r", 0, 2)
        assert isinstance(future.exception(), DeliveryTimeout)
        result = producer.close(0)
        assert (result.delivered, result.failed, result.unknown) == (1, 0, 1)

    assert run(app).values(0, "r") == [b"0", b"1"]


@pytest.mark.parametrize("fault", [Fault.REFUSE, Fault.RESET, Fault.BLACKHOLE])
def test_a_leader_that_cannot_be_reached_for_a_while(fault: Fault) -> None:
    def app(cluster: SimCluster) -> None:
        leader = cluster.leader(0)
        cluster.sandbox.start_fault(leader, fault)
        cluster.at(5000, lambda: cluster.sandbox.heal(leader))
        assert_delivered(sent(cluster, 10))

    assert run(app).values(0) == numbers(10)


@pytest.mark.parametrize("idempotent", [True, False])
def test_a_lost_answer_repeats_a_batch_only_without_idempotence(idempotent: bool) -> None:
    """The broker writes the batch and responds after the client has abandoned the request."""

    def app(cluster: SimCluster) -> None:
        producer = cluster.producer(
            {
                "enable.idempotence": idempotent,
                "request.timeout.ms": "1000",
                "delivery.timeout.ms": "20000",
            }
        )
        producer.send("t", b"0").result()
        leader = cluster.leader(0)
        cluster.sandbox.start_fault(leader, Fault.DELAY, ms=3000)
        cluster.at(3500, lambda: cluster.sandbox.heal(leader))
        future = producer.send("t", b"1")
        future.result()
        producer.send("t", b"2").result()
        producer.close()

    values = run(app).values(0)
    if idempotent:
        assert values == numbers(3)
    else:
        assert values.count(b"1") > 1
        assert list(dict.fromkeys(values)) == numbers(3)


def test_batches_too_large_for_the_broker_are_split_in_order() -> None:
    def app(cluster: SimCluster) -> None:
        cluster.sandbox.create_topic("small", 1, properties={"max.message.bytes": "1000"})
        producer = cluster.producer({"batch.size": "16384", "linger.ms": "5"})
        futures = [producer.send("small", b"%03d" % number + bytes(97)) for number in range(100)]
        futures.append(producer.send("small", bytes(2000)))
        futures.append(producer.send("small", b"last"))
        with pytest.raises(UndeliveredError) as caught:
            producer.flush()
        assert caught.value.undelivered == 1
        assert isinstance(futures[100].exception(0), error_class(10))
        assert futures[101].exception(0) is None
        result = producer.close()
        assert (result.delivered, result.failed, result.unknown) == (101, 1, 0)

    values = run(app).values(0, "small")
    assert [value[:3] for value in values if value is not None] == [b"%03d" % n for n in range(100)] + [b"las"]


def test_limit_of_a_topic_that_is_raised_again_is_used_again() -> None:
    """Requests a record: few more than the limit needs, and as few as before once the operator has raised it."""

    def app(cluster: SimCluster) -> None:
        cluster.sandbox.create_topic("small", 1, properties={"max.message.bytes": "2000"})
        producer = cluster.producer({"batch.size": "16384", "linger.ms": "5"})

        def requests(count: int) -> int:
            before = producer.metrics().batches_sent
            for _ in range(count):
                producer.send("small", bytes(100))
            producer.flush()
            return producer.metrics().batches_sent - before

        assert requests(1500) < 1.5 * 1500 / 16
        cluster.sandbox.cluster.configure_topic("small", {"max.message.bytes": "1000000"})
        requests(4000)
        assert requests(1500) <= 1.2 * 1500 / 140
        producer.close()

    run(app)


def test_records_expire_each_at_its_own_deadline() -> None:
    """The leader freezes. Records sent 100 ms apart fail exactly 100 ms apart, with the correct error."""

    def app(cluster: SimCluster) -> None:
        limits = {"delivery.timeout.ms": "3000", "request.timeout.ms": "2000", "linger.ms": "0"}
        producer = cluster.producer({**limits, "max.in.flight.requests.per.connection": "1"})
        producer.send("t", b"first").result()
        cluster.sandbox.start_fault(cluster.leader(0), Fault.FREEZE)
        ended: list[tuple[int, KafkaError | None]] = []
        starts = []
        for _ in range(5):
            starts.append(cluster.clock.now_ms())
            producer.send("t", b"x", callback=lambda future: ended.append((cluster.clock.now_ms(), future.exception())))
            cluster.hub.sleep_ms(100)
        producer.flush()  # the callbacks were given the failures
        assert [at_ms - start_ms for (at_ms, _), start_ms in zip(ended, starts, strict=True)] == [3000] * 5
        errors = [error for _, error in ended]
        assert all(isinstance(error, DeliveryTimeout) and error.elapsed_ms == 3000 for error in errors)
        assert "waiting for a connection to broker 1, the leader of t-0 (sent 1 time)" in str(errors[0])
        assert isinstance(errors[0], DeliveryTimeout)
        assert isinstance(errors[0].cause, RequestTimeout)
        result = producer.close(1)
        assert (result.delivered, result.failed, result.unknown) == (1, 4, 1)

    run(app)


def test_record_that_failed_unsent_is_never_written_later() -> None:
    def app(cluster: SimCluster) -> None:
        leader = cluster.leader(0)
        cluster.sandbox.start_fault(leader, Fault.REFUSE)
        producer = cluster.producer({"delivery.timeout.ms": "2000", "request.timeout.ms": "1000"})
        failing = producer.send("t", b"never")
        assert isinstance(failing.exception(), DeliveryTimeout)
        cluster.sandbox.heal()
        producer.send("t", b"later").result()
        assert producer.close().failed == 1

    assert run(app).values(0) == [b"later"]


def test_idempotence_goes_on_after_a_batch_of_unknown_fate() -> None:
    """The gap starts a new epoch for the partition: later batches are neither refused nor taken for repeats."""

    def app(cluster: SimCluster) -> None:
        limits = {"delivery.timeout.ms": "2000", "request.timeout.ms": "1500"}
        producer = cluster.producer({**limits, "socket.connection.setup.timeout.ms": "300"})
        producer.send("t", b"0").result()
        cluster.sandbox.start_fault(cluster.leader(0), Fault.SILENCE)
        assert isinstance(producer.send("t", b"lost").exception(), DeliveryTimeout)
        cluster.sandbox.heal()
        assert producer.send("t", b"1").result().offset == 1
        assert producer.send("t", b"2").result().offset == 2
        result = producer.close()
        assert (result.delivered, result.unknown) == (3, 1)

    assert run(app).values(0) == numbers(3)


def test_one_request_carries_the_batches_of_several_partitions() -> None:
    def app(cluster: SimCluster) -> None:
        producer = cluster.producer({"linger.ms": "10"})
        producer.partitions_for("p")
        futures = [producer.send("p", b"x", partition=number % 6) for number in range(60)]
        producer.flush()
        assert_delivered(futures)
        producer.close()

    cluster = run(app, topics={"p": 6}, nodes=1)
    logs = [partition.log for partition in cluster.sandbox.cluster.topics["p"].partitions.values()]
    assert [len(log.batches) for log in logs] == [1] * 6


def test_a_record_larger_than_a_request_is_refused_at_once() -> None:
    def app(cluster: SimCluster) -> None:
        with cluster.producer({"max.request.size": "1000"}) as producer:
            with pytest.raises(RecordTooLargeError, match=r"max\.request\.size is 1000"):
                producer.send("t", bytes(1001))
            producer.send("t", b"fits")

    assert run(app).values(0) == [b"fits"]


def test_topics_are_created_by_sending_to_them() -> None:
    def app(cluster: SimCluster) -> None:
        with cluster.producer() as producer:
            producer.send("new", b"x")

    assert run(app, settings=ClusterSettings(num_partitions=1)).values(0, "new") == [b"x"]


def test_a_callback_of_a_failed_record_may_send_it_again() -> None:
    """A record sent in a callback, on the loop itself, needs no wakeup."""

    def app(cluster: SimCluster) -> None:
        producer = cluster.producer({"delivery.timeout.ms": "2000", "request.timeout.ms": "1000"})
        producer.send("t", b"0").result()
        again: list[SendFuture] = []
        cluster.sandbox.start_fault(cluster.leader(0), Fault.FREEZE)
        first = producer.send("t", b"1", callback=lambda _: again.append(producer.send("u", b"1")))
        producer.partitions_for("u")
        assert first.exception() is not None
        before_ms = cluster.clock.now_ms()
        again[0].result()
        assert cluster.clock.now_ms() - before_ms < 50
        producer.close(0)

    run(app, topics={"t": 1, "u": 1})


def test_a_topic_made_anew_takes_up_the_records_that_wait_for_it() -> None:
    def app(cluster: SimCluster) -> None:
        producer = cluster.producer({"metadata.max.age.ms": "100"})
        producer.send("t", b"old").result()
        cluster.sandbox.cluster.delete_topic("t")
        cluster.hub.sleep_ms(300)
        futures = [producer.send("u", b"x")]
        cluster.at(1000, lambda: cluster.sandbox.create_topic("t", 1))
        for number in range(5):
            futures.append(producer.send("t", b"%d" % number))
            cluster.hub.sleep_ms(400)
        producer.flush()
        assert_delivered(futures)
        producer.close()

    cluster = run(app, topics={"t": 1, "u": 1}, settings=ClusterSettings(auto_create_topics_enable=False))
    assert cluster.values(0) == numbers(5)
