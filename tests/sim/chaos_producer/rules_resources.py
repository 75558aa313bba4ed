"""R1 to R9 as for consumers (tests/sim/chaos/rules_resources.py), and what a producer must not keep.

| id | rule |
|---|---|
| R4 buffer | buffer.memory is whole again, and nothing is outstanding or in flight, when a producer is closed |
"""

from collections.abc import Iterator

from tests.sim.chaos.checker import Violation, broken
from tests.sim.chaos.facts import Facts as ConsumerFacts
from tests.sim.chaos.history import Entry
from tests.sim.chaos.plan import Plan
from tests.sim.chaos.rules_resources import ResourceRules
from tests.sim.chaos_producer.facts import Facts


class ProducerResourceRules:
    """Use of resources."""

    def __init__(self) -> None:
        self._shared = ResourceRules(Plan(0, "", 0, (), ()))
        self._nothing = ConsumerFacts()

    def see(self, entry: Entry, facts: Facts) -> Iterator[Violation]:
        del facts
        yield from self._shared.see(entry, self._nothing)
        if entry.what == "gone" and any(entry.value["left"]):
            yield broken("R4 buffer", entry, f"outstanding, in flight, bytes: {entry.value['left']}")

    def end(self, facts: Facts) -> Iterator[Violation]:
        del facts
        yield from ()
