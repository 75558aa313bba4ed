"""Setting: the value of one property, and its origin."""

from typing import NamedTuple


class Setting(NamedTuple):
    """One value, and its source: `--api-timeout`, `-X`, `$KCTL_ACKS`, a file's or profile's name.

    Attributes:
        value: the text as written; for an option with a type, the parsed value.
        of_profile: `${env:NAME}` and the like in it are still to be fetched.
    """

    value: str | int
    origin: str
    of_profile: bool = False

    @property
    def text(self) -> str:
        """The value as a .properties file would have it."""
        return str(self.value)
