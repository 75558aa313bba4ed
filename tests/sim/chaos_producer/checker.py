"""The checker: reads a history of producers once and says which rules were broken, by the ids of the design.

Shown by tests/sim/chaos_producer/test_checker.py, where each rule refuses a history that breaks it.
"""

from collections.abc import Iterable, Iterator
from typing import Protocol

from tests.sim.chaos.checker import MOST_VIOLATIONS, Violation
from tests.sim.chaos.history import Entry
from tests.sim.chaos_producer.facts import Facts
from tests.sim.chaos_producer.plan import ProducerPlan


class Rule(Protocol):
    """Some rules that share a model."""

    def see(self, entry: Entry, facts: Facts) -> Iterable[Violation]:
        """Return what this entry breaks; `facts` are those before it."""
        ...

    def end(self, facts: Facts) -> Iterable[Violation]:
        """Return what is missing at the end."""
        ...


def rules() -> tuple[Rule, ...]:
    """Return a fresh set of all rules."""
    from tests.sim.chaos_producer.rules_calls import CallRules
    from tests.sim.chaos_producer.rules_records import RecordRules
    from tests.sim.chaos_producer.rules_resources import ProducerResourceRules
    from tests.sim.chaos_producer.rules_sendings import SendingRules
    from tests.sim.chaos_producer.rules_transactions import TransactionRules

    return (RecordRules(), SendingRules(), TransactionRules(), CallRules(), ProducerResourceRules())


def check(entries: Iterable[Entry], plan: ProducerPlan) -> list[Violation]:
    """Return the violations of a history, the earliest first, `MOST_VIOLATIONS` at most."""
    found: list[Violation] = []
    for violation in _all(entries, plan):
        found.append(violation)
        if len(found) == MOST_VIOLATIONS:
            break
    return found


def _all(entries: Iterable[Entry], plan: ProducerPlan) -> Iterator[Violation]:
    facts = Facts(plan)
    made = rules()
    for entry in entries:
        for rule in made:
            yield from rule.see(entry, facts)
        facts.see(entry)
    for rule in made:
        yield from rule.end(facts)
