"""Part of a look about transactions: open ones that delay consumers, and all transactional.ids."""

from kctl.client.wording import counted
from kctl.why.gathering.asker import Asker
from kctl.why.gathering.offsets import held_back
from kctl.why.look import Look

MOST_TRANSACTIONS = 200
"""Maximum number of transactional.ids to describe."""


def with_open_transactions(asker: Asker, look: Look) -> Look:
    held = held_back(look)
    if not held:
        return look
    what = f"open transactions of {counted(len(held), 'partition')}"
    found = asker.ask("DescribeProducers", what, lambda s: asker.admin.open_transactions(held, timeout=s))
    if found is None:
        return look
    for tp, error in list(found.failed.items())[:1]:
        asker.gap("DescribeProducers", str(tp), error)
    for name, error in found.missing.items():
        asker.gap("ListTransactions", name, error)
    return look._replace(open_transactions=found.transactions)


def with_transactions(asker: Asker, look: Look) -> Look:
    alive = asker.alive
    if not alive:
        return look
    listed = asker.ask(
        "ListTransactions", "the cluster", lambda s: asker.admin.list_transactions(broker_ids=alive, timeout=s)
    )
    names = [] if listed is None else list(listed.transactions)[:MOST_TRANSACTIONS]
    if not names:
        return look
    found = asker.each(
        "DescribeTransactions", "the cluster", lambda s: asker.admin.describe_transactions(names, timeout=s)
    )
    return look._replace(transactions=found)
