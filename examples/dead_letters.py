"""Process JSON records, and move records that cannot be processed to another topic.

The headers of a dead letter have the error and the position of its record.

python dead_letters.py SERVERS TOPIC DEAD_TOPIC GROUP
"""

import sys
from collections.abc import Callable
from typing import Any

from kctl.client import Consumer, Producer
from kctl.serdes import DeadLetters, Json, Text, TypedConsumer


def process(
    servers: str, topic: str, dead_topic: str, group: str, work: Callable[[Any], None], idle_s: float = 5.0
) -> int:
    """Process records until none arrives for `idle_s`. Return the number of processed records."""
    config = {
        "bootstrap.servers": servers,
        "group.id": group,
        "enable.auto.commit": False,
        "auto.offset.reset": "earliest",
    }
    count = 0
    with Producer({"bootstrap.servers": servers}) as producer:
        letters = DeadLetters(producer, dead_topic)
        with TypedConsumer(Consumer(config), Text(), Json(), on_error=letters) as consumer:
            consumer.client.subscribe([topic])
            idle = 0.0
            while idle < idle_s:
                records = consumer.poll(timeout=1)
                idle = 0.0 if records else idle + 1
                for record in records:
                    try:
                        work(record.value)
                    except ValueError as error:
                        letters(record.record, error)  # returns when the broker has acknowledged the letter
                    else:
                        count += 1
                consumer.client.commit_sync(timeout=30)
    return count


if __name__ == "__main__":
    servers, topic, dead_topic, group = sys.argv[1:]
    print(process(servers, topic, dead_topic, group, print), "records processed")
