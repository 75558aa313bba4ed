"""GroupSelection: consumer groups that a job copies, keeps or checks. Few imports, for the command line."""

from typing import NamedTuple


class GroupSelection(NamedTuple):
    """Consumer groups, selected by name or by pattern.

    Attributes:
        pattern: regular expression that matches whole names. An empty string selects no group.
    """

    names: tuple[str, ...] = ()
    pattern: str = ""

    def __bool__(self) -> bool:
        return bool(self.names or self.pattern)
