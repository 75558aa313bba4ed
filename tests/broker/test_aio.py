"""Clients of asyncio on real Kafka: random cancellations, a service under load whose broker is killed, and memory."""

import asyncio
import gc
from collections import Counter
from random import Random

import httpx2
import pytest
from fastapi import FastAPI

from examples import fastapi_service
from kctl.client import Consumer, ConsumerRecord, OffsetAndMetadata, Producer, TopicPartition
from kctl.client.aio import AsyncAdmin, AsyncConsumer, AsyncProducer
from tests.support.bounds import bound
from tests.support.kafka.cluster import KafkaCluster, KafkaNode

pytestmark = pytest.mark.nightly
CANCELLATIONS = 200
PARTITIONS = 3
PATIENCE_S = bound(1200)
CLIENTS = 20
"""Tasks that send orders to the service at the same time."""
AFTER_KILL = 200
"""Orders that the service has to acknowledge while a broker is down."""
RECORDS = 1_000_000
EARLY = 200_000
GROWTH_BYTES = 40_000_000
"""Less than the values of the records between."""
COLUMN = [b"x" * 100] * 10_000


class Reader:
    """Consumer whose calls are cancelled, and the records it returned."""

    def __init__(self, servers: str, topic: str, chance: Random) -> None:
        self.config = {
            "bootstrap.servers": servers,
            "group.id": topic,
            "auto.offset.reset": "earliest",
            "auto.commit.interval.ms": 50,
            "max.poll.records": 10,
        }
        self.topic = topic
        self.chance = chance
        self.offsets = dict.fromkeys(range(PARTITIONS), 0)
        """The next offset that each partition must return."""
        self.cancelled = 0

    def take(self, record: ConsumerRecord) -> None:
        assert record.offset == self.offsets[record.partition], "lost or repeated"
        self.offsets[record.partition] += 1

    async def step(self) -> None:
        call = self.chance.randrange(5)
        if call < 2:
            for record in await self.consumer.poll(self.chance.choice((0, 0.01, 1))):
                self.take(record)
        elif call < 4:
            left = self.chance.randrange(1, 30)
            async for record in self.consumer:
                self.take(record)
                left -= 1
                if left == 0:
                    break
                if left % 7 == 0:
                    await asyncio.sleep(0.0005)
        else:
            await self.consumer.commit()

    async def cancelled_step(self, admin: AsyncAdmin) -> None:
        task = asyncio.create_task(self.step())
        await asyncio.sleep(self.chance.choice((0, 0.001, 0.005, 0.02, 0.1, 0.5)))
        task.cancel()
        try:
            await task
        except asyncio.CancelledError:
            self.cancelled += 1
        committed = (await admin.list_group_offsets(self.topic)).done
        for tp, offset in committed.items():
            assert offset is None or offset.offset <= self.offsets[tp.partition], "committed and not returned"

    async def run(self, is_written: asyncio.Event) -> dict[TopicPartition, OffsetAndMetadata | None]:
        """Read all records, with a new consumer from time to time; return the offsets that the last one committed."""
        async with AsyncAdmin({"bootstrap.servers": self.config["bootstrap.servers"]}) as admin:
            while not is_written.is_set() or self.seen < await self.written(admin):
                async with AsyncConsumer(self.config) as self.consumer:
                    await self.use_consumer(admin)
                    await self.consumer.close(PATIENCE_S)
            return dict((await admin.list_group_offsets(self.topic)).done)

    async def use_consumer(self, admin: AsyncAdmin) -> None:
        """Cancel some calls; on a slow machine, then wait until the group has assigned partitions."""
        self.consumer.subscribe([self.topic])
        before = self.seen
        for _ in range(self.chance.randrange(20, 80)):
            await self.cancelled_step(admin)
        while before == self.seen < await self.written(admin):
            for record in await self.consumer.poll(PATIENCE_S):
                self.take(record)

    @property
    def seen(self) -> int:
        """Number of records returned."""
        return sum(self.offsets.values())

    async def written(self, admin: AsyncAdmin) -> int:
        wanted = {TopicPartition(self.topic, partition): -1 for partition in range(PARTITIONS)}
        return sum(each.offset for each in (await admin.list_offsets(wanted)).done.values())


def test_calls_that_are_cancelled_at_random_lose_and_repeat_nothing(kafka_newest: KafkaCluster) -> None:
    servers, topic = kafka_newest.bootstrap(), kafka_newest.create_topic(partitions=PARTITIONS)
    chance = Random(1)
    acknowledged: list[bytes] = []

    async def write(reader: Reader, is_written: asyncio.Event) -> None:
        async def send(value: bytes) -> None:
            await producer.send(topic, value)
            acknowledged.append(value)

        number = 0
        async with AsyncProducer({"bootstrap.servers": servers}) as producer:
            while reader.cancelled < CANCELLATIONS:
                tasks = [asyncio.create_task(send(b"%d" % value)) for value in range(number, number + 5)]
                number += len(tasks)
                await asyncio.sleep(chance.choice((0, 0.001, 0.004, 0.02)))
                for task in tasks:
                    if chance.random() < 0.3:
                        task.cancel()
                await asyncio.gather(*tasks, return_exceptions=True)
        is_written.set()

    async def main() -> tuple[Reader, dict[TopicPartition, OffsetAndMetadata | None]]:
        reader, is_written = Reader(servers, topic, chance), asyncio.Event()
        async with asyncio.timeout(PATIENCE_S):
            _, committed = await asyncio.gather(write(reader, is_written), reader.run(is_written))
        return reader, committed

    reader, committed = asyncio.run(main())
    stored = [record.value for record in read_all(servers, topic, reader.seen)]
    assert len(set(stored)) == len(stored), "a record was written twice"
    assert set(acknowledged) <= set(stored)
    assert {tp.partition: each.offset for tp, each in committed.items() if each and each.offset} == {
        partition: offset for partition, offset in reader.offsets.items() if offset
    }


def read_all(servers: str, topic: str, count: int) -> list[ConsumerRecord]:
    """Return all records of a topic, at least `count`."""
    found: list[ConsumerRecord] = []
    with Consumer({"bootstrap.servers": servers, "auto.offset.reset": "earliest"}) as consumer:
        consumer.assign([TopicPartition(topic, each.partition) for each in consumer.partitions_for(topic)])
        while len(found) < count and (more := consumer.poll(bound(60))):
            found += more
        found += consumer.poll(1)
    return found


class Orders:
    """Orders that tasks send to the service. Attributes: places: where each acknowledged order is."""

    def __init__(self) -> None:
        self.places: dict[bytes, tuple[int, int]] = {}
        self.statuses: Counter[int] = Counter()
        self.enough = RECORDS

    async def send(self, http: httpx2.AsyncClient, customer: int) -> None:
        """Send orders one after another until the service has acknowledged enough."""
        number = 0
        while len(self.places) < self.enough:
            body = b"%d-%d" % (customer, number)
            number += 1
            response = await http.post(f"/orders/{customer}", content=body)
            self.statuses[response.status_code] += 1
            if response.status_code == 200:
                self.places[body] = response.json()["partition"], response.json()["offset"]

    async def send_while_killed(self, app: FastAPI, victim: KafkaNode) -> int:
        """Send orders, kill a broker, and go on; return the number of orders that the service has counted."""
        transport = httpx2.ASGITransport(app=app)
        async with (
            asyncio.timeout(PATIENCE_S),
            app.router.lifespan_context(app),
            httpx2.AsyncClient(transport=transport, base_url="http://service", timeout=PATIENCE_S) as http,
        ):
            clients = [asyncio.create_task(self.send(http, number)) for number in range(CLIENTS)]
            while len(self.places) < AFTER_KILL:
                await asyncio.sleep(0.01)
            victim.kill()
            self.enough = len(self.places) + AFTER_KILL
            await asyncio.gather(*clients)
            while await counted(http) < len(self.places):
                await asyncio.sleep(0.1)
            await asyncio.sleep(1)  # a record that is repeated would be counted by now
            return await counted(http)


async def counted(http: httpx2.AsyncClient) -> int:
    return sum((await http.get("/orders")).json().values())


def test_service_under_load_acknowledges_orders_after_a_broker_was_killed(kafka_three: KafkaCluster) -> None:
    servers = kafka_three.bootstrap()
    topic = kafka_three.create_topic(partitions=PARTITIONS, configs={"min.insync.replicas": "2"})
    victim, orders = kafka_three.leader(topic, 0), Orders()
    try:
        count = asyncio.run(orders.send_while_killed(fastapi_service.make_app(servers, topic, topic), victim))
    finally:
        victim.start()
    stored = read_all(servers, topic, len(orders.places))
    by_place = {(record.partition, record.offset): record.value for record in stored}
    assert {body: by_place.get(place) for body, place in orders.places.items()} == {
        body: body for body in orders.places
    }
    assert len({record.value for record in stored}) == len(stored), "an order was written twice"
    assert count == len(stored), "the service has counted each order once"
    assert set(orders.statuses) <= {200, 503}


def resident_bytes() -> int:
    """Return the memory of this process."""
    gc.collect()
    with open("/proc/self/status", encoding="ascii") as status:
        return next(1024 * int(line.split()[1]) for line in status if line.startswith("VmRSS"))


def test_memory_does_not_grow_over_a_million_records_of_asyncio(kafka_newest: KafkaCluster) -> None:
    servers, topic = kafka_newest.bootstrap(), kafka_newest.create_topic(partitions=PARTITIONS)

    async def main() -> int:
        early_bytes = seen = 0
        config = {"bootstrap.servers": servers, "auto.offset.reset": "earliest"}
        async with AsyncProducer({"bootstrap.servers": servers}) as producer, AsyncConsumer(config) as consumer:
            consumer.assign([TopicPartition(topic, partition) for partition in range(PARTITIONS)])
            for sent in range(0, RECORDS, len(COLUMN)):
                await (await producer.send_columns(topic, COLUMN))
                for number in range(100):
                    await producer.enqueue(topic, b"%d" % number)
                while seen < sent:
                    seen += len(await consumer.poll(PATIENCE_S))
                early_bytes = early_bytes or (resident_bytes() if seen > EARLY else 0)
        return resident_bytes() - early_bytes

    assert asyncio.run(asyncio.wait_for(main(), PATIENCE_S)) < GROWTH_BYTES


def test_memory_does_not_grow_over_a_million_records(kafka_newest: KafkaCluster) -> None:
    servers, topic = kafka_newest.bootstrap(), kafka_newest.create_topic(partitions=PARTITIONS)
    early_bytes = seen = 0
    config = {"bootstrap.servers": servers, "auto.offset.reset": "earliest"}
    with Producer({"bootstrap.servers": servers}) as producer, Consumer(config) as consumer:
        consumer.assign([TopicPartition(topic, partition) for partition in range(PARTITIONS)])
        for sent in range(0, RECORDS, len(COLUMN)):
            producer.send_columns(topic, COLUMN).result(PATIENCE_S)
            for number in range(100):
                producer.send(topic, b"%d" % number)
            while seen < sent:
                seen += len(consumer.poll(PATIENCE_S))
            early_bytes = early_bytes or (resident_bytes() if seen > EARLY else 0)
    assert resident_bytes() - early_bytes < GROWTH_BYTES
