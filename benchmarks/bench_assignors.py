"""How long the leader of a classic group takes to share 2,000 partitions out among 200 members."""

import sys
import time
from collections.abc import Iterator
from random import Random

from kctl.client.cluster import TopicPartition
from kctl.client.consumer.assignors import Assignment, MemberSubscription, assignor_by_name

MEMBERS, TOPICS, PARTITIONS = 200, 100, 20
LIMIT_MS = 1000
NAMES = tuple(f"t{number:02}" for number in range(TOPICS))
PARTITIONS_OF = dict.fromkeys(NAMES, PARTITIONS)


def situations(name: str, *, equal: bool) -> Iterator[tuple[str, dict[str, MemberSubscription]]]:
    """Yield a fresh group, half of it gone, and one member that had everything."""
    rng = Random(1)
    assignor = assignor_by_name(name)
    topics = [NAMES if equal else tuple(rng.sample(NAMES, rng.choice((5, 20, 50, 100)))) for _ in range(MEMBERS)]
    fresh = {f"m{number:03}": MemberSubscription(each) for number, each in enumerate(topics)}
    yield "fresh", fresh
    assignment = assignor.assign(fresh, PARTITIONS_OF)
    settled = {each: owning(name, fresh[each], assignment[each]) for each in fresh}
    yield "half left", dict(list(settled.items())[::2])
    everything = [TopicPartition(topic, number) for topic in NAMES for number in range(PARTITIONS)]
    yield "one had all", {**fresh, "m000": owning(name, MemberSubscription(NAMES), everything)}


def owning(name: str, member: MemberSubscription, owned: list[TopicPartition]) -> MemberSubscription:
    user_data = assignor_by_name(name).subscription_user_data(owned, 1)
    return member._replace(owned=tuple(owned), generation=1, user_data=user_data)


def timed_ms(name: str, members: dict[str, MemberSubscription]) -> tuple[float, Assignment]:
    began = time.perf_counter()
    assignment = assignor_by_name(name).assign(members, PARTITIONS_OF)
    return (time.perf_counter() - began) * 1000, assignment


def main() -> int:
    slowest_ms = 0.0
    for name in ("range", "roundrobin", "sticky", "cooperative-sticky"):
        for equal in (True, False):
            for label, members in situations(name, equal=equal):
                took_ms, assignment = timed_ms(name, members)
                sizes = sorted(map(len, assignment.values()))
                slowest_ms = max(slowest_ms, took_ms)
                topics = "same topics" if equal else "different topics"
                print(f"{name:20} {topics:18} {label:12} {took_ms:7.1f} ms, shares of {sizes[0]} to {sizes[-1]}")
    print(f"slowest {slowest_ms:.0f} ms, limit {LIMIT_MS} ms")
    return int(slowest_ms > LIMIT_MS)


if __name__ == "__main__":
    sys.exit(main())
