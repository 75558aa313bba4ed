"""Clients of the library with a hostile broker: each call returns, or raises an error of Kafka."""

from collections.abc import Callable
from contextlib import suppress
from random import Random

import pytest

from kctl.client.clock import Timer
from kctl.client.cluster import TopicPartition
from kctl.client.consumer import Consumer
from kctl.client.errors import KafkaError
from kctl.client.protocol.framing import encode_response
from kctl.client.protocol.schema import Response
from tests.sim.aio.scene import AioCluster
from tests.sim.aio.scene import play as play_aio
from tests.sim.hostile.edits import mutated
from tests.sim.hostile.test_conversations import MOST_REMEMBERED, UNEDITED_APIS
from tests.sim.kit import SimCluster, run

QUICK_SEEDS, DEEP_SEEDS = 5, 200
TALK_MS = 8_000
"""Virtual time for which a consumer polls."""
ERROR_MS = 100
"""Virtual time for which an application waits after an error."""
LIMITS = {"default.api.timeout.ms": 4_000, "request.timeout.ms": 1_000}
GROUP_LIMITS = {"session.timeout.ms": 6_000, "heartbeat.interval.ms": 500, "auto.commit.interval.ms": 500}


class HostileBroker:
    """Edits responses of the sandbox by a seed, from `begin` on."""

    def __init__(self, seed: str, monkeypatch: pytest.MonkeyPatch) -> None:
        self._random = Random(seed)
        self._others: list[bytes] = []
        self._is_hostile = False
        monkeypatch.setattr("kctl.sandbox.connection.encode_response", self._encode)

    def begin(self) -> None:
        self._is_hostile = True

    def _encode(self, response: Response, version: int, correlation_id: int) -> bytes:
        true = encode_response(response, version, correlation_id)
        if len(self._others) < MOST_REMEMBERED:
            self._others.append(true[8:])
        if not self._is_hostile or self._random.random() < (0.9 if response.NAME in UNEDITED_APIS else 0.5):
            return true
        return mutated(self._random, response, version, correlation_id, self._others) or true


def produce(cluster: SimCluster, properties: dict[str, object]) -> None:
    limits = {"max.block.ms": 2_000, "delivery.timeout.ms": 4_000, "linger.ms": 0, **LIMITS}
    with cluster.producer({**limits, **properties}) as producer:
        if "transactional.id" in properties:
            producer.init_transactions()
            producer.begin_transaction()
        for future in [producer.send("t", b"%d" % number) for number in range(20)]:
            with suppress(KafkaError):
                future.result(timeout=5)
        if "transactional.id" in properties:
            producer.commit_transaction()


def consume(cluster: SimCluster, member: Consumer) -> None:
    with member as consumer:
        timer = Timer(cluster.clock, TALK_MS)
        while timer.not_expired:
            try:
                consumer.poll(0.2)
            except KafkaError:
                cluster.hub.sleep_ms(ERROR_MS)
            timer.update()
        for call in (consumer.commit_sync, consumer.lag, consumer.seek_to_committed):
            with suppress(KafkaError):
                call()


def read_alone(cluster: SimCluster) -> None:
    consumer = cluster.consumer(default_api_timeout_ms=4_000, request_timeout_ms=1_000)
    consumer.assign([TopicPartition("t", number) for number in range(2)])
    consume(cluster, consumer)


def member_of(cluster: SimCluster, protocol: str) -> None:
    limits = LIMITS | (GROUP_LIMITS if protocol == "classic" else {"auto.commit.interval.ms": 500})
    names = {name.replace(".", "_"): value for name, value in limits.items()}
    member = cluster.consumer(group_id="g", group_protocol=protocol, enable_auto_commit=True, **names)
    member.subscribe(["t"])
    consume(cluster, member)


CLIENTS: dict[str, Callable[[SimCluster], None]] = {
    "producer": lambda cluster: produce(cluster, {}),
    "transactional producer": lambda cluster: produce(cluster, {"transactional.id": "x"}),
    "reader": read_alone,
    "classic member": lambda cluster: member_of(cluster, "classic"),
    "kip-848 member": lambda cluster: member_of(cluster, "consumer"),
}


def converse(client: str, seed: int) -> None:
    """Run a client on a hostile broker; what a loop raises is raised here."""
    with pytest.MonkeyPatch.context() as monkeypatch:
        broker = HostileBroker(f"{client} {seed}", monkeypatch)

        def app(cluster: SimCluster) -> None:
            for partition in range(2):
                cluster.write(partition, 5)
            broker.begin()
            with suppress(KafkaError):
                CLIENTS[client](cluster)

        run(app, topics={"t": 2}, seed=seed + 1)


@pytest.mark.parametrize("client", CLIENTS)
@pytest.mark.slow
def test_client_survives_edited_responses(client: str) -> None:
    for seed in range(QUICK_SEEDS):
        converse(client, seed)


@pytest.mark.parametrize("client", CLIENTS)
@pytest.mark.nightly
def test_client_survives_many_edited_responses(client: str) -> None:
    for seed in range(QUICK_SEEDS, DEEP_SEEDS):
        converse(client, seed)


def converse_aio(seed: int) -> None:
    """Run the clients of asyncio on a hostile broker."""
    with pytest.MonkeyPatch.context() as monkeypatch:
        broker = HostileBroker(f"aio {seed}", monkeypatch)

        async def body(cluster: AioCluster) -> None:
            broker.begin()
            with suppress(KafkaError):
                async with cluster.async_producer(
                    **LIMITS, **{"max.block.ms": 2_000, "delivery.timeout.ms": 4_000}
                ) as p:
                    for number in range(5):
                        with suppress(KafkaError):
                            await p.send("t", b"%d" % number)
            with suppress(KafkaError):
                async with cluster.async_consumer(**LIMITS) as consumer:
                    consumer.subscribe(["t"])
                    for _ in range(10):
                        with suppress(KafkaError):
                            await consumer.poll(0.3)
                    with suppress(KafkaError):
                        await consumer.commit()

        play_aio(body, seed=seed + 1)


@pytest.mark.slow
def test_clients_of_asyncio_survive_edited_responses() -> None:
    for seed in range(QUICK_SEEDS):
        converse_aio(seed)
