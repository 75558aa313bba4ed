"""kafka-python: each blocking call of `KafkaConsumer` that takes `timeout_ms`."""

import logging
import time

from kafka import KafkaConsumer
from kafka.structs import OffsetAndMetadata, TopicPartition

from benchmarks.peers.calls import SETTLE_S, TOPIC, CallOptions, ended, measure, parse

TP = TopicPartition(TOPIC, 0)
logging.disable(logging.CRITICAL)


def member(options: CallOptions, group: str) -> KafkaConsumer:
    consumer = KafkaConsumer(
        TOPIC, bootstrap_servers=options.servers, group_id=group, auto_offset_reset="earliest", client_id="bench"
    )
    until_s = time.monotonic() + SETTLE_S
    while consumer.poll(timeout_ms=300) or not consumer.assignment():
        if time.monotonic() > until_s:
            raise TimeoutError("no assignment")
    return consumer


def main() -> None:
    options = parse()
    limit_ms = options.limit_ms
    members = [member(options, group) for group in options.groups]
    consumer = members[0]

    def position() -> None:
        consumer.seek_to_beginning(TP)
        if consumer.position(TP, timeout_ms=limit_ms) is None:
            raise TimeoutError("None")

    measure(
        options,
        {
            "poll": lambda: ended(not consumer.poll(timeout_ms=limit_ms)),
            "position": position,
            "commit_sync": lambda: consumer.commit({TP: OffsetAndMetadata(0, "", -1)}, timeout_ms=limit_ms),
            "committed": lambda: consumer.committed(TP, timeout_ms=limit_ms),
            "beginning_offsets": lambda: consumer.beginning_offsets([TP], timeout_ms=limit_ms),
            "end_offsets": lambda: consumer.end_offsets([TP], timeout_ms=limit_ms),
            "offsets_for_times": lambda: consumer.offsets_for_times({TP: 0}, timeout_ms=limit_ms),
            "close": lambda: members.pop().close(timeout_ms=limit_ms),
        },
    )


if __name__ == "__main__":
    main()
