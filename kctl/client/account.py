"""Account: where the time of a call went, for the error that ends it. Shown by tests/unit/cli/test_failures.py."""

from typing import NamedTuple

from kctl.client.kafka_error import KafkaError


class Account(NamedTuple):
    """What was done with the time of a call, for the error that ends it.

    Attributes:
        ledger: where the time went, one entry each.
        attempts: how many connection attempts were made.
        node_errors: the last error of each node that has one, the one that got furthest first.
    """

    ledger: tuple[str, ...] = ()
    attempts: int = 0
    node_errors: tuple[KafkaError, ...] = ()

    def __str__(self) -> str:
        tries = f"{self.attempts} connection attempt{'' if self.attempts == 1 else 's'}" if self.attempts else ""
        return "; ".join(part for part in (", ".join(self.ledger), tries) if part)
