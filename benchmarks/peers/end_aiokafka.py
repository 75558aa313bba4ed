"""aiokafka: neither `flush` nor `stop` of `AIOKafkaProducer` takes a limit."""

from benchmarks.peers.ends import measure, parse


def make() -> None:
    return None


def send(_producer: None) -> None:
    return None


if __name__ == "__main__":
    measure(parse(), make, send, {})
