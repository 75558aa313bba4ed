"""confluent-kafka: each blocking call of `Consumer` that takes a timeout; commit and close take none."""

import time

from confluent_kafka import Consumer, TopicPartition

from benchmarks.peers.calls import SETTLE_S, TOPIC, CallOptions, ended, measure, parse, unknown_topics


def member(options: CallOptions, group: str) -> Consumer:
    consumer = Consumer(
        {"bootstrap.servers": options.servers, "group.id": group, "auto.offset.reset": "earliest", "log_level": 0}
    )
    consumer.subscribe([TOPIC])
    until_s = time.monotonic() + SETTLE_S
    while consumer.poll(0.3) is not None or not consumer.assignment():
        if time.monotonic() > until_s:
            raise TimeoutError("no assignment")
    return consumer


def main() -> None:
    options = parse()
    limit_s = options.limit_s
    consumer = member(options, options.group)
    tp, topics = TopicPartition(TOPIC, 0), unknown_topics()
    measure(
        options,
        {
            "poll": lambda: ended(consumer.poll(limit_s) is None),
            "committed": lambda: consumer.committed([tp], timeout=limit_s),
            "partitions_for": lambda: consumer.list_topics(next(topics), timeout=limit_s),
            "list_topics": lambda: consumer.list_topics(timeout=limit_s),
            "beginning_offsets": lambda: consumer.get_watermark_offsets(tp, timeout=limit_s),
            "end_offsets": lambda: consumer.get_watermark_offsets(tp, timeout=limit_s),
            "offsets_for_times": lambda: consumer.offsets_for_times([TopicPartition(TOPIC, 0, 0)], timeout=limit_s),
        },
    )


if __name__ == "__main__":
    main()
