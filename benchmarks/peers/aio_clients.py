"""kctl.client.aio and aiokafka as programs that read or write one topic; one line of JSON each.

    python aio_clients.py kctl|aiokafka consume|produce|flow SERVERS TOPIC RECORDS [uvloop]

`consume` reads all records with the loop that documents of the client show; `consume-many` reads lists. `produce` hands
over all records and waits for their acknowledgements; `send` awaits each of them, in 500 tasks. `flow` writes and reads
at a rate of 100,000 records/s each, and reports the longest stall of the event loop: on the clock, and as the CPU time
of all threads of the program, which the load of the machine does not change. Runs in the environment of each client:
needs nothing else of kctl's. SWITCH_MS sets the interval in which Python passes its lock to another thread.
"""

import asyncio
import json
import os
import sys
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from typing import Any

VALUE = b"x" * 100
TASKS = 500
TICK_S = 0.0005
FLOW_PER_S = 100_000
BURST = 100


class Kctl:
    """The calls of kctl.client.aio."""

    def __init__(self, servers: str, topic: str) -> None:
        self.servers, self.topic = servers, topic

    async def reader(self) -> Any:
        from kctl.client import TopicPartition
        from kctl.client.aio import AsyncConsumer

        consumer = AsyncConsumer({"bootstrap.servers": self.servers, "auto.offset.reset": "earliest"})
        infos = await consumer.partitions_for(self.topic)
        consumer.assign([TopicPartition(self.topic, info.partition) for info in infos])
        return consumer

    async def to_end(self, reader: Any) -> None:
        reader.seek_to_end()
        for partition in reader.assignment:
            await reader.position(partition)

    async def batches(self, reader: Any) -> AsyncIterator[int]:
        while True:
            yield len(await reader.poll(10))

    async def stop(self, client: Any) -> None:
        await client.close()

    async def writer(self) -> Any:
        from kctl.client.aio import AsyncProducer

        producer = AsyncProducer({"bootstrap.servers": self.servers, "linger.ms": 5})
        await producer.partitions_for(self.topic)
        return producer

    async def enqueue(self, writer: Any) -> Awaitable[Any]:
        future: Awaitable[Any] = await writer.enqueue(self.topic, VALUE)
        return future

    async def send(self, writer: Any) -> None:
        await writer.send(self.topic, VALUE)

    async def flush(self, writer: Any) -> None:
        await writer.flush()


class Aiokafka:
    """The calls of aiokafka."""

    def __init__(self, servers: str, topic: str) -> None:
        self.servers, self.topic = servers, topic

    async def reader(self) -> Any:
        from aiokafka import AIOKafkaConsumer

        consumer = AIOKafkaConsumer(self.topic, bootstrap_servers=self.servers, auto_offset_reset="earliest")
        await consumer.start()
        return consumer

    async def to_end(self, reader: Any) -> None:
        await reader.seek_to_end()
        for partition in reader.assignment():
            await reader.position(partition)

    async def batches(self, reader: Any) -> AsyncIterator[int]:
        while True:
            found = await reader.getmany(timeout_ms=10_000, max_records=500)
            yield sum(map(len, found.values()))

    async def stop(self, client: Any) -> None:
        await client.stop()

    async def writer(self) -> Any:
        from aiokafka import AIOKafkaProducer

        producer = AIOKafkaProducer(
            bootstrap_servers=self.servers, linger_ms=5, acks="all", enable_idempotence=True, max_batch_size=16_384
        )
        await producer.start()
        return producer

    async def enqueue(self, writer: Any) -> Awaitable[Any]:
        future: Awaitable[Any] = await writer.send(self.topic, VALUE)
        return future

    async def send(self, writer: Any) -> None:
        await writer.send_and_wait(self.topic, VALUE)

    async def flush(self, writer: Any) -> None:
        await writer.flush()


class Span:
    """Wall and CPU time from the first record on: connecting and importing do not count."""

    def __init__(self) -> None:
        self.begun_s, self.cpu_s = time.perf_counter(), time.process_time()

    def per_record(self, count: int) -> dict[str, float]:
        cpu_s, wall_s = time.process_time() - self.cpu_s, time.perf_counter() - self.begun_s
        return {"per_s": count / wall_s, "cpu_us": 1e6 * cpu_s / count}


async def consume(client: Any, count: int) -> dict[str, float]:
    reader, seen = await client.reader(), 0
    async for _ in reader:
        seen += 1
        if seen == 1:
            span = Span()
        if seen == count:
            break
    found = span.per_record(count)
    await client.stop(reader)
    return found


async def consume_many(client: Any, count: int) -> dict[str, float]:
    reader, seen = await client.reader(), 0
    span = None
    async for batch in client.batches(reader):
        span = span or Span()
        seen += batch
        if seen >= count:
            break
    assert span is not None
    found = span.per_record(count)
    await client.stop(reader)
    return found


async def produce(client: Any, count: int) -> dict[str, float]:
    writer = await client.writer()
    await client.send(writer)
    span = Span()
    futures = [await client.enqueue(writer) for _ in range(count)]
    await client.flush(writer)
    for future in futures:
        await future
    found = span.per_record(count)
    await client.stop(writer)
    return found


async def send(client: Any, count: int) -> dict[str, float]:
    writer = await client.writer()
    await client.send(writer)
    span = Span()

    async def task() -> None:
        for _ in range(count // TASKS):
            await client.send(writer)

    await asyncio.gather(*(task() for _ in range(TASKS)))
    found = span.per_record(count)
    await client.stop(writer)
    return found


async def flow(client: Any, count: int) -> dict[str, float]:
    """Write and read at the same time; return stalls of the event loop and the rate of what arrived."""
    writer, reader = await client.writer(), await client.reader()
    await client.to_end(reader)
    stalls: list[float] = []
    slices: list[float] = []
    is_over = False

    async def tick() -> None:
        while not is_over:
            begun, cpu_s = time.perf_counter(), time.process_time()
            await asyncio.sleep(TICK_S)
            stalls.append(time.perf_counter() - begun - TICK_S)
            slices.append(time.process_time() - cpu_s)

    async def write() -> None:
        begun = time.perf_counter()
        for done in range(0, count, BURST):
            for _ in range(BURST):
                await client.enqueue(writer)
            early = begun + done / FLOW_PER_S - time.perf_counter()
            await asyncio.sleep(max(0, early))
        await client.flush(writer)

    async def read() -> None:
        seen = 0
        async for batch in client.batches(reader):
            seen += batch
            if seen > count:
                break

    await client.send(writer)
    span = Span()
    ticking = asyncio.create_task(tick())
    await asyncio.gather(write(), read())
    is_over = True
    await ticking
    await client.stop(writer)
    await client.stop(reader)
    stalls.sort()
    slices.sort()
    return {
        "stall_max_ms": 1000 * stalls[-1],
        "stall_p999_ms": 1000 * stalls[len(stalls) * 999 // 1000],
        "slice_max_ms": 1000 * slices[-1],
        "slice_p999_ms": 1000 * slices[len(slices) * 999 // 1000],
        **span.per_record(count),
    }


MODES: dict[str, Callable[[Any, int], Awaitable[dict[str, float]]]] = {
    "consume": consume,
    "consume-many": consume_many,
    "produce": produce,
    "send": send,
    "flow": flow,
}


def main() -> None:
    name, mode, servers, topic, count, *loop = sys.argv[1:]
    client = {"kctl": Kctl, "aiokafka": Aiokafka}[name](servers, topic)
    if interval := os.environ.get("SWITCH_MS"):
        sys.setswitchinterval(float(interval) / 1000)

    async def measured() -> None:
        print(json.dumps(await MODES[mode](client, int(count))), flush=True)

    if loop:
        import uvloop

        uvloop.run(measured())
    else:
        asyncio.run(measured())


if __name__ == "__main__":
    main()
