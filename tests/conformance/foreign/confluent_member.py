"""confluent-kafka as a member of a group until its standard input ends; the lines are those of GroupMember.java."""

import sys
from threading import Event, Thread

from confluent_kafka import Consumer, KafkaException

from tests.conformance.foreign.login import librdkafka_settings


def be_member(topic: str, properties: dict[str, str], ends: Event) -> None:
    """Read and commit until `ends` is set."""
    consumer = Consumer(librdkafka_settings(properties))
    consumer.subscribe([topic])
    last: list[int] = []
    try:
        while not ends.is_set():
            message = consumer.poll(0.05)
            now = sorted(one.partition for one in consumer.assignment())
            if now != last:
                print("assigned", *now, flush=True)  # noqa: T201  # the program's output
                last = now
            if message is None:
                continue
            error = message.error()
            if error is not None:
                raise KafkaException(error)
            value = message.value()
            assert isinstance(value, bytes)
            print("read", message.partition(), value.decode(), flush=True)  # noqa: T201  # the program's output
            consumer.commit(message=message, asynchronous=False)
    finally:
        consumer.close()


def main() -> None:
    """Do what the command line says."""
    topic, *pairs = sys.argv[1:]
    ends = Event()

    def watch() -> None:
        sys.stdin.read()
        ends.set()

    Thread(target=watch, daemon=True).start()
    be_member(topic, dict(pair.split("=", 1) for pair in pairs), ends)


main()
