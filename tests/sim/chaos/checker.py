"""Checker: reads a history once and returns the broken rules, by the ids of the design.

A rule gets each entry with the previous facts and returns violations. The rules of producers are in
tests/sim/chaos_producer/checker.py. The first violation identifies the failure of the run.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import islice
from typing import NamedTuple, Protocol, TypeVar

from tests.sim.chaos.facts import Facts
from tests.sim.chaos.history import Entry
from tests.sim.chaos.plan import Plan


class Violation(NamedTuple):
    """A rule that was broken.

    Attributes:
        rule: its id and name, such as `C1 poll-skip`.
        number: the entry at which it showed.
    """

    rule: str
    number: int
    at_ms: int
    proc: str
    text: str

    def __str__(self) -> str:
        return f"{self.rule} at {self.at_ms} ms, {self.proc}, entry {self.number}: {self.text}"


class Model(Protocol):
    """Facts of a history so far."""

    def see(self, entry: Entry) -> None:
        """Take one entry in, after the rules have seen it."""
        ...


M = TypeVar("M", bound=Model)
Judged = TypeVar("Judged", bound=Model, contravariant=True)


class Rule(Protocol[Judged]):
    """Some rules that share a model."""

    def see(self, entry: Entry, facts: Judged) -> Iterable[Violation]:
        """Return what this entry breaks; `facts` are those before it."""
        ...

    def end(self, facts: Judged) -> Iterable[Violation]:
        """Return the violations that are known only at the end."""
        ...


MOST_VIOLATIONS = 20


def rules(plan: Plan) -> tuple[Rule[Facts], ...]:
    """Return a fresh set of all rules."""
    from tests.sim.chaos.rules_consumer import ConsumerRules
    from tests.sim.chaos.rules_deadlines import DeadlineRules
    from tests.sim.chaos.rules_groups import GroupRules
    from tests.sim.chaos.rules_rates import RateRules
    from tests.sim.chaos.rules_refusals import RefusalRules
    from tests.sim.chaos.rules_resources import ResourceRules

    made: Sequence[Callable[[Plan], Rule[Facts]]] = (
        ConsumerRules,
        GroupRules,
        DeadlineRules,
        ResourceRules,
        RateRules,
    )
    return (*(make(plan) for make in made), RefusalRules())


def check(entries: Iterable[Entry], plan: Plan) -> list[Violation]:
    """Return the violations of a history, the earliest first, `MOST_VIOLATIONS` at most."""
    return violations(entries, Facts(), rules(plan))


def violations(entries: Iterable[Entry], facts: M, rules: Sequence[Rule[M]]) -> list[Violation]:
    """Return what a history breaks of some rules, whatever model they share; the earliest first, not too many."""
    return list(islice(_all(entries, facts, rules), MOST_VIOLATIONS))


def _all(entries: Iterable[Entry], facts: M, rules: Sequence[Rule[M]]) -> Iterator[Violation]:
    for entry in entries:
        for rule in rules:
            yield from rule.see(entry, facts)
        facts.see(entry)
    for rule in rules:
        yield from rule.end(facts)


def broken(rule: str, entry: Entry, text: str) -> Violation:
    """Return the violation of a rule by an entry."""
    return Violation(rule, entry.number, entry.at_ms, entry.proc, text)
