"""The checker: reads a history of producers once and says which rules were broken, by the ids of the design."""

from collections.abc import Iterable

from tests.sim.chaos.checker import Rule, Violation, violations
from tests.sim.chaos.history import Entry
from tests.sim.chaos_producer.facts import Facts
from tests.sim.chaos_producer.plan import ProducerPlan


def rules() -> tuple[Rule[Facts], ...]:
    """Return a fresh set of all rules."""
    from tests.sim.chaos.rules_refusals import RefusalRules
    from tests.sim.chaos_producer.rules_calls import CallRules
    from tests.sim.chaos_producer.rules_records import RecordRules
    from tests.sim.chaos_producer.rules_resources import ProducerResourceRules
    from tests.sim.chaos_producer.rules_sendings import SendingRules
    from tests.sim.chaos_producer.rules_transactions import TransactionRules

    return (RecordRules(), SendingRules(), TransactionRules(), CallRules(), ProducerResourceRules(), RefusalRules())


def check(entries: Iterable[Entry], plan: ProducerPlan) -> list[Violation]:
    """Return the violations of a history, as tests/sim/chaos/checker.py does."""
    return violations(entries, Facts(plan), rules())
