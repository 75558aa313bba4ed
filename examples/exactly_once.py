"""Copy a topic to another topic in transactions: each record once, even after a crash.

python exactly_once.py SERVERS SOURCE TARGET GROUP
"""

import sys

from kctl.client import Consumer, Producer


def copy(servers: str, source: str, target: str, group: str, idle_s: float = 5.0) -> int:
    """Copy records until none arrives for `idle_s`. Return the number of records."""
    reading = {
        "bootstrap.servers": servers,
        "group.id": group,
        "enable.auto.commit": False,
        "isolation.level": "read_committed",
        "auto.offset.reset": "earliest",
    }
    writing = {"bootstrap.servers": servers, "transactional.id": f"{group}-copier"}
    count = 0
    with Consumer(reading) as consumer, Producer(writing) as producer:
        producer.init_transactions(timeout=30)
        consumer.subscribe([source])
        while records := consumer.poll(timeout=idle_s):
            with producer.transaction(consumer, timeout=30):  # and commits the positions of the consumer
                for record in records:
                    producer.send(target, record.value, record.key, headers=record.headers)
            count += len(records)
    return count


if __name__ == "__main__":
    servers, source, target, group = sys.argv[1:]
    print(copy(servers, source, target, group), "records copied")
