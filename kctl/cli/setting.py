"""Setting: the value of one property, and its source."""

from typing import NamedTuple


class Setting(NamedTuple):
    """One value, and its source: `--api-timeout`, `-X`, `$KCTL_ACKS`, or the name of a file or profile.

    Attributes:
        value: as written; for an option with a type, the parsed value.
        of_profile: whether it may have references such as `${env:NAME}`.
    """

    value: str | int
    origin: str
    of_profile: bool = False

    @property
    def text(self) -> str:
        return str(self.value)
