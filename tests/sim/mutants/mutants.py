"""The planted bugs: one replacement of text each. A text that is gone or changed makes its mutant an error."""

from typing import NamedTuple

_CONSUMER = "kctl/client/consumer"
_MANAGERS = f"{_CONSUMER}/managers"


class Mutant(NamedTuple):
    """One bug: in the file at `path`, `old` becomes `new`."""

    name: str
    path: str
    old: str
    new: str


MUTANTS: tuple[Mutant, ...] = ()
