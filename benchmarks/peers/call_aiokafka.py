"""aiokafka: `getmany` has a timeout of its own; other calls have `request_timeout_ms`, which is set to the limit."""

import asyncio
import logging
import time
from collections.abc import Callable, Coroutine
from typing import Any

from aiokafka import AIOKafkaConsumer, TopicPartition

from benchmarks.peers.calls import SETTLE_S, TOPIC, CallOptions, ended, measure, parse
from benchmarks.peers.measuring import Ended

TP = TopicPartition(TOPIC, 0)
logging.disable(logging.CRITICAL)


async def member(options: CallOptions, group: str) -> AIOKafkaConsumer:
    consumer = AIOKafkaConsumer(
        TOPIC,
        bootstrap_servers=options.servers,
        group_id=group,
        auto_offset_reset="earliest",
        request_timeout_ms=options.limit_ms,
        retry_backoff_ms=20,
    )
    await consumer.start()
    until_s = time.monotonic() + SETTLE_S
    while await consumer.getmany(timeout_ms=300) or not consumer.assignment():
        if time.monotonic() > until_s:
            raise TimeoutError("no assignment")
    return consumer


def main() -> None:
    options = parse()
    loop = asyncio.new_event_loop()
    members = [loop.run_until_complete(member(options, group)) for group in options.groups]
    consumer = members[0]

    def run(make: Callable[[], Coroutine[Any, Any, object]]) -> Callable[[], object]:
        return lambda: loop.run_until_complete(make())

    async def position() -> None:
        await consumer.seek_to_beginning(TP)
        await consumer.position(TP)

    async def poll() -> Ended:
        return ended(not await consumer.getmany(timeout_ms=options.limit_ms))

    measure(
        options,
        {
            "poll": run(poll),
            "position": run(position),
            "commit_sync": run(lambda: consumer.commit({TP: 0})),
            "committed": run(lambda: consumer.committed(TP)),
            "list_topics": run(lambda: consumer.topics()),
            "beginning_offsets": run(lambda: consumer.beginning_offsets([TP])),
            "end_offsets": run(lambda: consumer.end_offsets([TP])),
            "offsets_for_times": run(lambda: consumer.offsets_for_times({TP: 0})),
            "close": run(lambda: members.pop().stop()),
        },
    )


if __name__ == "__main__":
    main()
