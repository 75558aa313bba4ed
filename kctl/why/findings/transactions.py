"""Transactions that hold readers back, and producers that fence each other.

Shown by tests/sim/why/test_transaction_stories.py.
"""

from collections.abc import Iterator

from kctl.client.admin import OpenTransaction, Verdict
from kctl.why.finding import Evidence, Finding, Value
from kctl.why.looking import Looks, age_text, more_text, place
from kctl.why.table import FINDINGS

LONG_MS = 60_000
"""Transactions last for seconds; the default of transaction.timeout.ms is one minute."""
LOOP_EPOCHS = 3
"""This many new epochs between two looks are no restart."""
_FEATURE, _EPOCH_EACH = "transaction.version", 2
"""From this level on, each transaction has an epoch of its own."""


def transactions(looks: Looks) -> Iterator[Finding]:
    """Yield what is wrong with transactions."""
    by_topic: dict[tuple[str, str], list[OpenTransaction]] = {}
    for each in looks.now.open_transactions:
        if each.verdict is Verdict.HANGING:
            by_topic.setdefault(("transaction-hanging", each.partition.topic), []).append(each)
        elif each.verdict is Verdict.OVERDUE or (_age_ms(looks, each) or 0) >= LONG_MS:
            by_topic.setdefault(("transaction-open", each.partition.topic), []).append(each)
    for (name, _), found in by_topic.items():
        yield _finding(looks, name, found)
    yield from _fenced(looks)


def _age_ms(looks: Looks, each: OpenTransaction) -> int | None:
    """Return how long ago a transaction began, or at least when its producer wrote last."""
    started_at_ms = each.started_at_ms if each.started_at_ms is not None else each.producer.last_timestamp_ms
    return None if started_at_ms < 0 else max(0, looks.now.wall_ms - started_at_ms)


def _finding(looks: Looks, name: str, found: list[OpenTransaction]) -> Finding:
    def waiting(each: OpenTransaction) -> int:
        end = looks.now.ends.get(each.partition)
        return 0 if end is None else max(0, end.offset - each.start_offset)

    worst = max(found, key=waiting)
    age_ms = _age_ms(looks, worst)
    values: dict[str, Value] = {
        "offset": worst.start_offset,
        "waiting": waiting(worst),
        "producer": str(worst.producer.producer_id),
        "epoch": worst.producer.producer_epoch,
        "name": "" if worst.transactional_id is None else f", transactional.id {worst.transactional_id}",
        "age": "an unknown time" if age_ms is None else age_text(age_ms),
        "reason": worst.reason,
        "more": more_text(len({each.partition for each in found}) - 1),
        **place(worst.partition),
    }
    return FINDINGS[name].found(
        values,
        [
            Evidence(
                "DescribeProducers",
                str(worst.partition),
                {
                    "producer_id": worst.producer.producer_id,
                    "producer_epoch": worst.producer.producer_epoch,
                    "transaction_start_offset": worst.start_offset,
                    "last_timestamp_ms": worst.producer.last_timestamp_ms,
                },
            ),
            Evidence(
                "ListTransactions",
                f"producer {worst.producer.producer_id}",
                {"transactional_id": worst.transactional_id, "verdict": worst.verdict.value, "reason": worst.reason},
            ),
        ],
    )


def _fenced(looks: Looks) -> Iterator[Finding]:
    level = looks.now.features.get(_FEATURE)
    if looks.before is None or level is None or level >= _EPOCH_EACH:
        return
    for name, now in looks.now.transactions.items():
        before = looks.before.transactions.get(name)
        if before is None or before.producer_id != now.producer_id:
            continue
        rises = now.producer_epoch - before.producer_epoch
        if rises >= LOOP_EPOCHS:
            yield FINDINGS["producer-fenced"].found(
                {
                    "id": name,
                    "rises": rises,
                    "seconds": looks.apart,
                    "producer": str(now.producer_id),
                    "before": before.producer_epoch,
                    "epoch": now.producer_epoch,
                },
                [
                    Evidence("DescribeTransactions", "first look", {"producer_epoch": before.producer_epoch}),
                    Evidence("DescribeTransactions", "second look", {"producer_epoch": now.producer_epoch}),
                    Evidence("ApiVersions", "the cluster", {_FEATURE: level}),
                ],
            )
