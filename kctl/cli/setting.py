"""Setting: the value of one property, and its source."""

from typing import NamedTuple


class Setting(NamedTuple):
    """Value of a property, and its source.

    Attributes:
        value: text as written, or the parsed value of an option.
        origin: `--api-timeout`, `-X`, `$KCTL_ACKS`, or the name of a file or profile.
        of_profile: whether the value may contain references such as `${env:NAME}`.
    """

    value: str | int
    origin: str
    of_profile: bool = False

    @property
    def text(self) -> str:
        return str(self.value)
