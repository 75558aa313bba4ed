"""Rules R1 to R9 (R12 to R14: rules_rates.py): no leaks, no busy loops, and no lost exceptions.

| id | rule |
|---|---|
| R1 sockets | no connection is left after all consumers are closed |
| R2 entries | no wait, timer, or traffic of a closed consumer is left |
| R3 actors | no thread of a closed consumer is left |
| R6 exception | calls and loops raise only errors of the API, and nothing is logged as an error |
| R7 busy | no instant has thousands of steps, and a calm second has few |
| R8 dials | a failing node is dialed again with backoff |
| R9 protocol | no response is mistaken for another |
"""

from collections.abc import Iterator

from tests.sim.chaos.checker import Violation, broken
from tests.sim.chaos.facts import Facts
from tests.sim.chaos.history import CLUSTER, Entry
from tests.sim.chaos.plan import Plan
from tests.sim.chaos.rules_rates import Rate

DIALS_A_SECOND = 30
"""With reconnect.backoff.ms of 50 ms that doubles: five in a second, on three connections, and new consumers."""
STEPS_A_SECOND = 250
"""Limit of one client in a calm second, including the steps of the nodes for it."""


class ResourceRules:
    """Use of resources."""

    def __init__(self, plan: Plan) -> None:
        self._dials = Rate(DIALS_A_SECOND)
        self._stable_ms = 0

    def see(self, entry: Entry, facts: Facts) -> Iterator[Violation]:
        if entry.what == "protocol-error":
            yield broken("R9 protocol", entry, str(entry.value))
        if entry.what == "failed" and entry.proc == "fresh":
            yield broken("R6 exception", entry, entry.value)
        if entry.proc != CLUSTER:
            return
        match entry.what:
            case "dial":
                yield from self._dial(entry)
            case "exception":
                yield broken("R6 exception", entry, f"{entry.value['actor']}: {entry.value['text']}")
            case "stuck":
                yield broken("R7 busy", entry, entry.value)
            case "stable":
                self._stable_ms = entry.at_ms
            case "calm":
                a_second = entry.value["steps"] * 1000 // max(1, entry.at_ms - self._stable_ms)
                if a_second > STEPS_A_SECOND * entry.value["clients"]:
                    yield broken("R7 busy", entry, f"{a_second} steps in a calm second")
            case "left":
                yield from self._left(entry)

    @staticmethod
    def _left(entry: Entry) -> Iterator[Violation]:
        if entry.value["connections"]:
            yield broken("R1 sockets", entry, f"{entry.value['connections']} connections are left")
        if entry.value["entries"]:
            yield broken("R2 entries", entry, f"still to happen: {', '.join(entry.value['entries'])}")
        if entry.value["actors"]:
            yield broken("R3 actors", entry, f"left: {', '.join(entry.value['actors'])}")

    def _dial(self, entry: Entry) -> Iterator[Violation]:
        client, ip = entry.value
        if self._dials.is_too_many((client, ip), entry.at_ms):
            yield broken("R8 dials", entry, f"{client} has dialled {ip} {DIALS_A_SECOND + 1} times within a second")

    def end(self, facts: Facts) -> Iterator[Violation]:
        yield from ()
