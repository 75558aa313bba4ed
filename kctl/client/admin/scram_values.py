from typing import NamedTuple

SCRAM_NUMBERS = {"SCRAM-SHA-256": 1, "SCRAM-SHA-512": 2}
"""Kafka's number of each mechanism."""
DEFAULT_ITERATIONS = 4096
MOST_ITERATIONS = 16_384
"""Maximum number of iterations that brokers accept. Source: ScramControlManager.MAX_ITERATIONS."""

ScramMechanisms = dict[str, int]
"""Iterations by mechanism of a user's credentials."""


class Credential(NamedTuple):
    """Identity of a credential. A user may have one credential for each mechanism."""

    user: str
    mechanism: str


class ScramPassword(NamedTuple):
    """A new password of a user for one mechanism; `repr` hides it.

    Attributes: mechanism: SCRAM-SHA-256 or SCRAM-SHA-512.
    """

    user: str
    mechanism: str
    password: str
    iterations: int = DEFAULT_ITERATIONS

    def __repr__(self) -> str:
        return f"ScramPassword({self.user!r}, {self.mechanism!r}, '***', {self.iterations})"


class ScramRemoval(NamedTuple):
    """A credential to delete."""

    user: str
    mechanism: str


ScramChange = ScramPassword | ScramRemoval
