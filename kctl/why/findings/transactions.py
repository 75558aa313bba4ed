"""Findings about transactions that delay consumers, and producers that fence each other."""

from collections.abc import Iterator
from itertools import pairwise

from kctl.client.admin import OpenTransaction, Verdict
from kctl.why.finding import Evidence, Finding, Value
from kctl.why.look import Looks
from kctl.why.table import FINDINGS
from kctl.why.wording import age_text, each_of, more_text, place

LONG_MS = 60_000
"""Minimum age of a long transaction, in ms: the default of transaction.timeout.ms."""
YOUNG_MS = 1000
"""Minimum age of a transaction to report, in ms."""
LOOP_EPOCHS = 3
"""Number of new epochs between two looks that a restart does not explain."""
OPEN = "transaction-open"
_FEATURE, _EPOCH_EACH = "transaction.version", 2
"""Feature level from which each transaction has a new epoch, so that only producer starts count."""
LOOP_STARTS = 2
_STARTED = "Empty"
"""State of a transactional.id between the start of its producer and its first transaction."""


def transactions(looks: Looks) -> Iterator[Finding]:
    by_topic: dict[tuple[str, str], list[OpenTransaction]] = {}
    for each in looks.now.open_transactions:
        if each.verdict is Verdict.HANGING:
            by_topic.setdefault(("transaction-hanging", each.partition.topic), []).append(each)
        elif each.verdict is Verdict.OVERDUE or (each.age_ms(looks.now.wall_ms) or 0) >= LONG_MS:
            by_topic.setdefault((OPEN, each.partition.topic), []).append(each)
        elif (each.age_ms(looks.now.wall_ms) or 0) >= YOUNG_MS:
            by_topic.setdefault(("transaction-running", each.partition.topic), []).append(each)
    for (name, _), found in by_topic.items():
        yield _finding(looks, name, found)
    yield from _fenced(looks)


def _finding(looks: Looks, name: str, found: list[OpenTransaction]) -> Finding:
    def waiting(each: OpenTransaction) -> int:
        end = looks.now.ends.get(each.partition)
        return 0 if end is None else max(0, end.offset - each.start_offset)

    worst = max(found, key=waiting)
    age_ms = worst.age_ms(looks.now.wall_ms)
    values: dict[str, Value] = {
        "offset": worst.start_offset,
        "waiting": waiting(worst),
        "producer": str(worst.producer.producer_id),
        "epoch": worst.producer.producer_epoch,
        "name": "" if worst.transactional_id is None else f", transactional.id {worst.transactional_id}",
        "age": "an unknown time" if age_ms is None else age_text(age_ms),
        "reason": worst.reason,
        "more": more_text(len({each.partition for each in found}) - 1),
        "rest": each_of(
            "kctl transactions abort {topic}:{number} --start-offset {offset} --execute",
            ({"offset": each.start_offset, **place(each.partition)} for each in found if each is not worst),
        ),
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
    if looks.before is None or level is None:
        return
    for name, now in looks.now.transactions.items():
        between = [each.transactions[name] for each in looks.between if name in each.transactions]
        before = looks.before.transactions.get(name)
        if before is None or before.producer_id != now.producer_id:
            continue
        rises = now.producer_epoch - before.producer_epoch
        seen = [before, *between, now]
        starts = sum(new.state == _STARTED and new.producer_epoch > old.producer_epoch for old, new in pairwise(seen))
        if starts < LOOP_STARTS if level >= _EPOCH_EACH else rises < LOOP_EPOCHS:
            continue
        what = f"producers were initialized at least {starts} times" if level >= _EPOCH_EACH else ""
        yield FINDINGS["producer-fenced"].found(
            {
                "id": name,
                "what": what or f"the producer epoch rose {rises} times",
                "seconds": looks.apart,
                "producer": str(now.producer_id),
                "before": before.producer_epoch,
                "epoch": now.producer_epoch,
            },
            [
                *(
                    Evidence(
                        "DescribeTransactions", where, {"producer_epoch": each.producer_epoch, "state": each.state}
                    )
                    for where, each in zip(
                        ("first sample", *["intermediate sample"] * len(between), "last sample"), seen, strict=True
                    )
                ),
                Evidence("ApiVersions", "the cluster", {_FEATURE: level}),
            ],
        )
