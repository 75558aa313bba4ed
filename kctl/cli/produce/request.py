"""ProduceRequest: the parsed options of `kctl produce`. Shown by tests/unit/cli/produce/test_produce.py."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple

from kctl.cli.input.form import Form
from kctl.cli.settings import Setting

if TYPE_CHECKING:
    from kctl.client.records import Header


class ProduceRequest(NamedTuple):
    """What to send, where to, and how.

    Attributes:
        topic: where to; None: each record's own.
        files: what to read.
        form: how to read it.
        headers: of every record, behind its own.
        partition: where to; None: the producer chooses.
        keeps_partition: the record's own partition is taken.
        empty_is_null: an empty value is a tombstone.
        per_second: records a second; None: as fast as they are taken.
        undelivered: the file for what could not be delivered.
        is_transaction: all or nothing; without a transactional.id one is made up.
        flags: properties that have an option of their own.
    """

    topic: str | None
    files: Sequence[str]
    form: Form
    headers: "tuple[Header, ...]" = ()
    partition: int | None = None
    keeps_partition: bool = False
    empty_is_null: bool = False
    per_second: float | None = None
    undelivered: str | None = None
    is_transaction: bool = False
    flags: Mapping[str, Setting | None] = {}
