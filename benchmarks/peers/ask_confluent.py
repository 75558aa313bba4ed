"""confluent-kafka: `AdminClient.list_topics(timeout)`; the connection limit as librdkafka's own log states it.

librdkafka tells of an expired connection in its log alone, with whole milliseconds.
"""

import logging
import re

from confluent_kafka.admin import AdminClient

from benchmarks.peers.measuring import Attempt, Ended, Options, parse, report

SETUP_EXPIRED = re.compile(r"setup timed out.*after (\d+)ms in state", re.IGNORECASE)
PATIENCE_S = 10


def properties(options: Options) -> dict[str, str | int | float | bool]:
    config: dict[str, str | int | float | bool] = {
        "bootstrap.servers": options.servers,
        "security.protocol": options.security,
    }
    if options.security.startswith("SASL"):
        config |= {"sasl.mechanism": "PLAIN", "sasl.username": "alice", "sasl.password": "wrong"}
    return config


def api(options: Options) -> Attempt:
    client = AdminClient(properties(options) | {"log_level": 0})

    def attempt() -> None:
        client.list_topics(timeout=options.limit_ms / 1000)

    return attempt


class Watch(logging.Handler):
    """Keeps the first line that tells of an expired connection."""

    def __init__(self) -> None:
        super().__init__()
        self.ended: Ended | None = None

    def emit(self, record: logging.LogRecord) -> None:
        line = record.getMessage()
        found = SETUP_EXPIRED.search(line)
        if found is not None and self.ended is None:
            self.ended = Ended(line, int(found[1]) * 1000)


def connect(options: Options) -> Attempt:
    limits = {"socket.connection.setup.timeout.ms": options.limit_ms, "socket.timeout.ms": 60_000}
    config = properties(options) | limits

    def attempt() -> Ended:
        watch = Watch()
        logger = logging.Logger("librdkafka")
        logger.addHandler(watch)
        client = AdminClient(config, logger=logger)
        for _ in range(PATIENCE_S * 10):
            client.poll(0.1)
            if watch.ended is not None:
                return watch.ended
        return Ended("no limit")

    return attempt


if __name__ == "__main__":
    chosen = parse()
    report(api(chosen) if chosen.mode == "api" else connect(chosen), chosen.runs)
