"""Taking events in their order where records belong to transactions: what comes outside of one is refused.

Shown by tests/sim/producer/test_transactions.py.
"""

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from kctl.client.producer.deliveries import Deliveries
from kctl.client.producer.future import Outcome, SendFuture
from kctl.client.producer.intake import Intake
from kctl.client.producer.mailbox import Event
from kctl.client.producer.record_run import Parcel, RecordRun

if TYPE_CHECKING:
    from kctl.client.producer.transactions.transactions import Transactions


def take_in_transaction(
    events: Sequence[Event],
    transactions: "Transactions",
    intake: Intake,
    deliveries: Deliveries,
    other: Callable[[Event], None],
) -> None:
    """Accept the records that are part of the open transaction; what is no record goes to `other`, in its place.

    `send` has looked before; but another thread may have ended the transaction since.
    """
    records: list[Parcel] = []
    for event in events:
        if isinstance(event, SendFuture | RecordRun):
            records.append(event)
        else:
            _take(records, transactions, intake, deliveries, other)
            records = []
            other(event)
    _take(records, transactions, intake, deliveries, other)


def _take(
    records: Sequence[Parcel],
    transactions: "Transactions",
    intake: Intake,
    deliveries: Deliveries,
    other: Callable[[Event], None],
) -> None:
    refusal = transactions.record_refusal() if records else None
    if refusal is None:
        intake.take(records, other)
        return
    for record in records:
        record.group = deliveries.open_group
        deliveries.accepted(record.count)
        deliveries.finish([record], Outcome(refusal))
