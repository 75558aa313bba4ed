"""GroupSelection: consumer groups that a job copies, keeps or checks. Imports stay few for the command line."""

from typing import NamedTuple


class GroupSelection(NamedTuple):
    """Selected groups. Attributes: pattern: regular expression of whole names; empty for none."""

    names: tuple[str, ...] = ()
    pattern: str = ""

    def __bool__(self) -> bool:
        return bool(self.names or self.pattern)
