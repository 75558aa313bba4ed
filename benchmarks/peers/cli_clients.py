"""Python clients that read a topic or send lines, one to a run, for bench_cli.py to compare with.

    python benchmarks/peers/cli_clients.py kctl|confluent|aiokafka consume ADDRESS TOPIC COUNT
    python benchmarks/peers/cli_clients.py kctl|confluent|aiokafka produce ADDRESS TOPIC FILE

Reading looks at the value of every record, as a program does; sending waits at the end for all acknowledgements (all).
"""

import asyncio
import sys
from pathlib import Path

AT_ONCE = 10_000
WAIT_S = 60.0


def kctl_consume(address: str, topic: str, count: int) -> int:
    from kctl.client import Consumer

    size = 0
    config = {"bootstrap.servers": address, "group.id": "bench-cli", "auto.offset.reset": "earliest"}
    with Consumer({**config, "enable.auto.commit": "false"}) as consumer:
        consumer.subscribe([topic])
        while count > 0:
            for record in consumer.poll(WAIT_S):
                size += len(record.value or b"")
                count -= 1
    return size


def kctl_produce(address: str, topic: str, lines: list[bytes]) -> None:
    from kctl.client import Producer

    producer = Producer({"bootstrap.servers": address})
    for line in lines:
        producer.send(topic, line)
    producer.flush(WAIT_S)
    producer.close(WAIT_S)


def confluent_consume(address: str, topic: str, count: int) -> int:
    from confluent_kafka import Consumer

    size = 0
    config = {"bootstrap.servers": address, "group.id": "bench-cli", "auto.offset.reset": "earliest"}
    consumer = Consumer({**config, "enable.auto.commit": False})
    consumer.subscribe([topic])
    while count > 0:
        for record in consumer.consume(AT_ONCE, 1.0):
            size += len(record.value() or b"")
            count -= 1
    consumer.close()
    return size


def confluent_produce(address: str, topic: str, lines: list[bytes]) -> None:
    from confluent_kafka import Producer

    producer = Producer({"bootstrap.servers": address, "acks": "all", "enable.idempotence": True})
    for line in lines:
        while True:
            try:
                producer.produce(topic, line)
                break
            except BufferError:
                producer.poll(0.1)
    producer.flush(WAIT_S)


def aiokafka_consume(address: str, topic: str, count: int) -> int:
    from aiokafka import AIOKafkaConsumer

    async def consume() -> int:
        size, left = 0, count
        config = {"bootstrap_servers": address, "group_id": "bench-cli", "auto_offset_reset": "earliest"}
        consumer = AIOKafkaConsumer(topic, enable_auto_commit=False, **config)
        await consumer.start()
        while left > 0:
            for records in (await consumer.getmany(timeout_ms=1000)).values():
                for record in records:
                    size += len(record.value or b"")
                    left -= 1
        await consumer.stop()
        return size

    return asyncio.run(consume())


def aiokafka_produce(address: str, topic: str, lines: list[bytes]) -> None:
    from aiokafka import AIOKafkaProducer

    async def produce() -> None:
        producer = AIOKafkaProducer(bootstrap_servers=address, acks="all", enable_idempotence=True, linger_ms=5)
        await producer.start()
        for line in lines:
            await producer.send(topic, line)
        await producer.stop()

    asyncio.run(produce())


CONSUME = {"kctl": kctl_consume, "confluent": confluent_consume, "aiokafka": aiokafka_consume}
PRODUCE = {"kctl": kctl_produce, "confluent": confluent_produce, "aiokafka": aiokafka_produce}


def main() -> None:
    name, what, address, topic, last = sys.argv[1:]
    if what == "consume":
        print(CONSUME[name](address, topic, int(last)))
    else:
        PRODUCE[name](address, topic, Path(last).read_bytes().splitlines())


if __name__ == "__main__":
    main()
