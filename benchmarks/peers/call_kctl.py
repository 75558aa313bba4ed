"""kctl: each blocking call of `Consumer` with its own timeout."""

import time

from benchmarks.peers.calls import SETTLE_S, TOPIC, CallOptions, ended, measure, parse, unknown_topics
from benchmarks.peers.measuring import Ended
from kctl.client import Consumer, TopicPartition

TP = TopicPartition(TOPIC, 0)


def member(options: CallOptions, group: str) -> Consumer:
    consumer = Consumer(
        {
            "bootstrap.servers": options.servers,
            "group.id": group,
            "group.protocol": options.protocol,
            "auto.offset.reset": "earliest",
        }
    )
    consumer.subscribe([TOPIC])
    until_s = time.monotonic() + SETTLE_S
    while consumer.poll(0.3) or not consumer.assignment:
        if time.monotonic() > until_s:
            raise TimeoutError("no assignment")
    return consumer


def main() -> None:
    options = parse()
    limit_s = options.limit_s
    members = [member(options, group) for group in options.groups]
    consumer, topics = members[0], unknown_topics()

    def position() -> None:
        consumer.seek_to_beginning([TP])
        consumer.position(TP, limit_s)

    def close() -> Ended:
        expired_in = members.pop().close(limit_s).expired_in
        return Ended("success" if expired_in is None else f"ended in {expired_in}")

    measure(
        options,
        {
            "poll": lambda: ended(not consumer.poll(limit_s)),
            "position": position,
            "commit_sync": lambda: consumer.commit_sync({TP: 0}, limit_s),
            "committed": lambda: consumer.committed([TP], limit_s),
            "partitions_for": lambda: consumer.partitions_for(next(topics), limit_s),
            "list_topics": lambda: consumer.list_topics(limit_s),
            "beginning_offsets": lambda: consumer.beginning_offsets([TP], limit_s),
            "end_offsets": lambda: consumer.end_offsets([TP], limit_s),
            "offsets_for_times": lambda: consumer.offsets_for_times({TP: 0}, limit_s),
            "client_instance_id": lambda: consumer.client_instance_id(limit_s),
            "close": close,
        },
    )


if __name__ == "__main__":
    main()
