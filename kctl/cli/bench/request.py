"""BenchRequest: what a `kctl bench` was asked for, all words parsed. Shown by tests/unit/cli/bench/test_bench.py."""

from collections.abc import Mapping
from enum import Enum
from typing import NamedTuple

from kctl.cli.options import Output
from kctl.cli.settings import Setting

SHAPES = (Output.TABLE, Output.JSON)


class Kind(Enum):
    """What is measured."""

    PRODUCE = "produce"
    CONSUME = "consume"
    END_TO_END = "end-to-end"


class BenchRequest(NamedTuple):
    """How much of what to measure, and where.

    Attributes:
        topic: one that is there; None: one is made and deleted.
        per_second: records a second; None: as fast as it goes.
        partitions, replication_factor: of a topic that is made; None: as the broker is set.
        flags: properties of the producer that have an option of their own.
    """

    kind: Kind
    records: int
    record_bytes: int
    topic: str | None = None
    per_second: float | None = None
    partitions: int | None = None
    replication_factor: int | None = None
    flags: Mapping[str, Setting | None] = {}
