"""GroupSelection: which consumer groups a job is to carry over, keep or check. Light: the command line imports it."""

from typing import NamedTuple


class GroupSelection(NamedTuple):
    """Which groups. Attributes: names: these. pattern: those whose whole name matches; empty for none."""

    names: tuple[str, ...] = ()
    pattern: str = ""

    def __bool__(self) -> bool:
        return bool(self.names or self.pattern)
