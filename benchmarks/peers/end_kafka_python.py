"""kafka-python: `flush(timeout)` and `close(timeout)` of `KafkaProducer`."""

import logging

from kafka import KafkaProducer

from benchmarks.peers.ends import TOPIC, measure, parse

options = parse()
logging.disable(logging.CRITICAL)


def make() -> KafkaProducer:
    producer = KafkaProducer(bootstrap_servers=options.servers)
    producer.send(TOPIC, b"connected").get(30)
    return producer


def send(producer: KafkaProducer) -> None:
    producer.send(TOPIC, b"x" * 100)


def flush(producer: KafkaProducer) -> str:
    producer.flush(timeout=options.limit_s)
    return "success"


def close(producer: KafkaProducer) -> str:
    producer.close(timeout=options.limit_s)
    return "success"


if __name__ == "__main__":
    measure(options, make, send, {"flush": flush, "close": close})
