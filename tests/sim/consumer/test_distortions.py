"""Answers that no Kafka broker gives end a call with a protocol error at most, and never the network thread."""

from collections.abc import Iterator
from itertools import product

import pytest

from kctl.client.cluster import TopicPartition
from kctl.client.consumer.consumer import Consumer
from kctl.client.errors import IllegalStateError, KafkaError, KafkaTimeoutError, RemoteProtocolError
from kctl.client.events import Event
from kctl.client.network.network_client import NetworkClient
from kctl.client.producer import Producer
from tests.sim.chaos.distortions import Distortion
from tests.sim.chaos.replies import Replies
from tests.sim.kit import SimCluster, drain
from tests.sim.virtual import Hub, sim_runtime

ALWAYS = 10_000


@pytest.fixture
def hub() -> Iterator[Hub]:
    with Hub(1) as made:
        yield made


READING = ("Metadata", "ListOffsets", "Fetch", "FindCoordinator", "OffsetFetch", "OffsetCommit", "JoinGroup")
WRITING = ("Metadata", "Produce", "InitProducerId")


@pytest.mark.parametrize(("api", "how"), list(product(READING, Distortion)), ids=str)
def test_consumer_survives_any_distorted_answer_and_reads_on_afterwards(hub: Hub, api: str, how: Distortion) -> None:
    cluster = SimCluster(hub, nodes=1, topics={"t": 1})
    cluster.write(0, 5)
    replies = Replies()

    def body() -> None:
        replies.distort(api, how, 3)
        consumer = cluster.consumer(group_id="g", request_timeout_ms=1000, default_api_timeout_ms=3000)
        consumer.subscribe(["t"])
        count = polls = 0
        while count < 5:
            polls += 1
            assert polls < 100, consumer.waiting_for()
            try:
                count += len(consumer.poll(timeout=1))
                consumer.commit_sync()
            except IllegalStateError:
                raise
            except KafkaError:
                consumer.list_topics()  # a new call of the user is a new chance
        consumer.close()

    with replies.installed():
        cluster.run(body)


@pytest.mark.parametrize(("api", "how"), list(product(WRITING, Distortion)), ids=str)
def test_producer_survives_any_distorted_answer(hub: Hub, api: str, how: Distortion) -> None:
    cluster = SimCluster(hub, nodes=1, topics={"t": 1})
    replies = Replies()

    def body() -> None:
        replies.distort(api, how, 3)
        config = {"bootstrap.servers": cluster.bootstrap, "max.block.ms": 5000, "delivery.timeout.ms": 20_000}
        config |= {"request.timeout.ms": 1000}
        producer = Producer(config, sim_runtime(hub, "p", cluster.network))
        delivered, sends = False, 0
        while not delivered:
            sends += 1
            assert sends < 100
            try:
                producer.send("t", b"x").result()
                delivered = True
            except IllegalStateError:
                raise
            except KafkaError:
                pass
        producer.close()

    with replies.installed():
        cluster.run(body)


def _error_of_poll(cluster: SimCluster, **properties: object) -> KafkaError:
    def body() -> KafkaError:
        consumer = cluster.consumer(**properties)
        consumer.assign([TopicPartition("t", 0)])
        with pytest.raises(KafkaError) as raised:
            drain(consumer, 1)
        consumer.close()
        return raised.value

    return cluster.run(body)


def test_negative_offset_in_list_offsets_is_a_protocol_error_of_the_partition(hub: Hub) -> None:
    replies = Replies()
    replies.distort("ListOffsets", Distortion.OFFSET, ALWAYS)
    with replies.installed():
        error = _error_of_poll(SimCluster(hub))
    assert isinstance(error, RemoteProtocolError)
    assert str(error) == "cannot look up offsets of t-0 on broker 1: -7 is not an offset"


@pytest.mark.parametrize(
    ("how", "words"),
    [
        (Distortion.PARTITION, "the Metadata response contains partition -5 of topic t"),
        (Distortion.NO_TOPICS, "the Metadata response does not contain topic t"),
    ],
)
def test_metadata_that_no_broker_gives_is_a_protocol_error_of_the_call(hub: Hub, how: Distortion, words: str) -> None:
    cluster = SimCluster(hub)
    replies = Replies()
    replies.distort("Metadata", how, ALWAYS)

    def body() -> str:
        consumer = cluster.consumer()
        with pytest.raises(RemoteProtocolError) as raised:
            consumer.partitions_for("t", timeout=3)
        consumer.close()
        return str(raised.value)

    with replies.installed():
        assert cluster.run(body) == words


@pytest.mark.parametrize("how", [Distortion.PARTITION, Distortion.NO_TOPICS, Distortion.NO_BROKERS])
def test_producer_without_usable_metadata_names_the_protocol_error_as_the_cause(hub: Hub, how: Distortion) -> None:
    cluster = SimCluster(hub)
    replies = Replies()
    replies.distort("Metadata", how, ALWAYS)

    def body() -> KafkaError | None:
        config = {"bootstrap.servers": cluster.bootstrap, "max.block.ms": 2000}
        with Producer(config, sim_runtime(hub, "p", cluster.network)) as producer:
            with pytest.raises(KafkaTimeoutError) as raised:
                producer.send("t", b"x")
            return raised.value.cause

    with replies.installed():
        assert isinstance(cluster.run(body), RemoteProtocolError)


def test_events_callback_that_raises_stops_neither_consumer_nor_producer(
    hub: Hub, caplog: pytest.LogCaptureFixture
) -> None:
    cluster = SimCluster(hub, nodes=1, topics={"t": 1})

    def raising(_: Event) -> None:
        raise ZeroDivisionError("a metrics hook with a bug")

    def body() -> bytes | None:
        config = {"bootstrap.servers": cluster.bootstrap}
        with Producer(config, sim_runtime(hub, "p", cluster.network), events=raising) as producer:
            producer.send("t", b"x").result()
        given = {**config, "auto.offset.reset": "earliest"}
        with Consumer(given, sim_runtime(hub, "c", cluster.network), events=raising) as consumer:
            consumer.assign([TopicPartition("t", 0)])
            (record,) = drain(consumer, 1)
            return record.value

    assert cluster.run(body) == b"x"
    assert [line.getMessage()[:27] for line in caplog.records] == ["the events callback failed "] * 2, "once a client"


def test_failure_of_the_network_thread_is_the_cause_of_later_errors(hub: Hub, monkeypatch: pytest.MonkeyPatch) -> None:
    cluster = SimCluster(hub, nodes=1, topics={"t": 1})

    def failing(*_: object) -> None:
        raise ZeroDivisionError("a bug")

    def body() -> tuple[BaseException | None, BaseException | None]:
        consumer = cluster.consumer()
        producer = Producer({"bootstrap.servers": cluster.bootstrap}, sim_runtime(hub, "p", cluster.network))
        monkeypatch.setattr(NetworkClient, "poll", failing)
        consumer.assign([TopicPartition("t", 0)])
        with pytest.raises(IllegalStateError, match="which is a bug: ZeroDivisionError: a bug") as of_consumer:
            consumer.poll(timeout=1)
        with pytest.raises(IllegalStateError, match="which is a bug: ZeroDivisionError: a bug") as of_producer:
            producer.send("t", b"x").result(timeout=1)
        return of_consumer.value.__cause__, of_producer.value.__cause__

    with pytest.raises(ZeroDivisionError):  # the simulation passes it on, as threading.excepthook does
        cluster.run(body)
