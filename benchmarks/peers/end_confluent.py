"""confluent-kafka: `flush(timeout)` of `Producer`, which returns how many remain; closing is flushing."""

from confluent_kafka import Producer

from benchmarks.peers.ends import TOPIC, measure, parse

options = parse()


def make() -> Producer:
    producer = Producer({"bootstrap.servers": options.servers, "log_level": 0})
    producer.produce(TOPIC, b"connected")
    producer.flush(30)
    return producer


def send(producer: Producer) -> None:
    producer.produce(TOPIC, b"x" * 100)


def flush(producer: Producer) -> str:
    remaining = producer.flush(options.limit_s)
    return f"{remaining} remain" if remaining else "success"


if __name__ == "__main__":
    measure(options, make, send, {"flush": flush})
