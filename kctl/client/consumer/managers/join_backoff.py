"""JoinBackoff: when a member that failed to join may try again, and when a final refusal is raised again.

Used by both group protocols, so that an application that polls on after each error neither floods the coordinator nor
spins. Shown by tests/sim/groups/test_refused_joins.py.
"""

from random import Random

from kctl.client.config import ConsumerConfig
from kctl.client.errors import KafkaError
from kctl.client.requests.retry import retry_backoff

AT_ONCE = 2
"""How often a member that is asked to join again does so at once: with its new member id, and for one more member."""


class JoinBackoff:
    """The back-off between the joins of one member.

    Attributes:
        failures: attempts since the member was last accepted.
        retry_at_ms: no join is sent before this instant.
        fatal: the error that no further attempt can cure; None while there is none.
    """

    def __init__(self, config: ConsumerConfig, chance: Random) -> None:
        self.failures = 0
        self.retry_at_ms = 0
        self.fatal: KafkaError | None = None
        self._backoff = retry_backoff(config, chance)
        self._asked_again = 0
        self._is_refused = False
        self._is_due = False
        """A poll has begun since the fatal error was last raised."""

    def failed(self, now_ms: int) -> None:
        """Wait before the next attempt, longer after each."""
        self.retry_at_ms = now_ms + self._backoff.backoff_ms(self.failures)
        self.failures += 1

    def asked_again(self, now_ms: int) -> None:
        """Note that the group asks the member to join again, which it does at once until that repeats itself."""
        self._asked_again += 1
        if self._asked_again > AT_ONCE:
            self.failed(now_ms)

    def refused(self, *, fatal: KafkaError | None = None) -> None:
        """Note an error that is raised to the application; the wait begins with the next `advance`."""
        self._is_refused = True
        self.fatal = fatal

    def clear_fatal(self) -> None:
        """Forget the fatal error: another subscription may be accepted."""
        self.fatal = None
        self._is_due = False

    def accepted(self) -> None:
        self.failures = self._asked_again = 0
        self.retry_at_ms = 0

    def poll_began(self) -> None:
        self._is_due = self.fatal is not None

    def advance(self, now_ms: int) -> KafkaError | None:
        """Begin the wait of a refusal; return the fatal error when the application is to get it again."""
        if self._is_refused:
            self._is_refused = False
            self.failed(now_ms)
        if self.fatal is None or not self._is_due or now_ms < self.retry_at_ms:
            return None
        self._is_due = False
        self.failed(now_ms)
        return self.fatal

    @property
    def fatal_at_ms(self) -> int | None:
        """Return when a poll that has begun gets the fatal error; None where none is due."""
        return self.retry_at_ms if self._is_due else None
