"""Send the lines of stdin to a topic, and print the result of each record.

python delivery_reports.py SERVERS TOPIC < FILE
"""

import sys
from collections.abc import Iterable

from kctl.client import Producer, SendFuture


def send(servers: str, topic: str, values: Iterable[bytes]) -> list[str]:
    """Send values and return the report of each record, in the order of the results."""
    reports: list[str] = []

    def report(future: SendFuture) -> None:  # on the network thread
        error = future.exception(timeout=0)
        if error is not None:
            reports.append(f"not delivered: {error}")
        else:
            place = future.result(timeout=0)
            reports.append(f"{place.topic}-{place.partition} offset {place.offset}")

    with Producer({"bootstrap.servers": servers}) as producer:
        for value in values:
            producer.send(topic, value, callback=report)
    return reports


if __name__ == "__main__":
    lines = (line.rstrip(b"\n") for line in sys.stdin.buffer)
    print(*send(sys.argv[1], sys.argv[2], lines), sep="\n")
