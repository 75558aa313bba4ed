"""kctl: `flush(timeout)` and `close(timeout)` of `Producer`."""

from benchmarks.peers.ends import TOPIC, measure, parse
from kctl.client import Producer

options = parse()


def make() -> Producer:
    producer = Producer({"bootstrap.servers": options.servers})
    producer.send(TOPIC, b"connected").result(30)
    return producer


def send(producer: Producer) -> None:
    producer.send(TOPIC, b"x" * 100)


def flush(producer: Producer) -> str:
    producer.flush(options.limit_s)
    return "success"


def close(producer: Producer) -> str:
    result = producer.close(options.limit_s)
    if not result.failed and not result.unknown:
        return "success"
    return f"{result.failed} failed, {result.unknown} unknown"


if __name__ == "__main__":
    measure(options, make, send, {"flush": flush, "close": close})
