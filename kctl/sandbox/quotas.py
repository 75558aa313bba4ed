"""How many bytes a second clients of a node may produce and fetch, and how long those are muted who took more.

Source: KIP-124, KIP-219: the answer leaves at once and says for how long its connection is not read from.
"""

from enum import Enum
from typing import NamedTuple

_SECOND_MS = 1_000
MAX_RATE = 2**40
"""The greatest quota, in bytes a second."""


class Quota(Enum):
    """What is limited; the value is the word that users type."""

    PRODUCE = "produce"
    FETCH = "fetch"

    @property
    def key(self) -> str:
        """Its key among client quotas."""
        return "producer_byte_rate" if self is Quota.PRODUCE else "consumer_byte_rate"


class Limit(NamedTuple):
    """A quota of one client.

    Attributes: account: user and client id whose taking is added up; rate: in bytes a second.
    """

    quota: Quota
    account: tuple[str, str]
    rate: int


class _Account:
    """What one client may still take at once, in thousandths of bytes: at most a second's worth; below 0 is a debt."""

    __slots__ = ("at_ms", "credit")

    def __init__(self, rate: int, now_ms: int) -> None:
        self.credit = rate * _SECOND_MS
        self.at_ms = now_ms


class Quotas:
    """The quotas of one node, and an account for each client id."""

    def __init__(self) -> None:
        self._rates: dict[Quota, int] = {}
        self._accounts: dict[Limit, _Account] = {}

    def limit(self, quota: Quota, bytes_per_s: int | None) -> None:
        """Limit the bytes a second of each client, or with None do not; all counts start again.

        Raises:
            ValueError: the rate is not 1 to `MAX_RATE`.
        """
        if bytes_per_s is not None and not 1 <= bytes_per_s <= MAX_RATE:
            raise ValueError(f"{bytes_per_s} bytes a second: 1 to {MAX_RATE} are possible")
        self._accounts = {key: account for key, account in self._accounts.items() if key.quota is not quota}
        if bytes_per_s is None:
            self._rates.pop(quota, None)
        else:
            self._rates[quota] = bytes_per_s

    def limit_of(self, quota: Quota, client_id: str) -> Limit | None:
        """Return the limit that was set here, for each client id on its own."""
        rate = self._rates.get(quota)
        return None if rate is None else Limit(quota, ("", client_id), rate)

    def debt_ms(self, limit: Limit, now_ms: int) -> int:
        """Return in how many milliseconds a client has taken no more than it may; 0 when it has not."""
        return max(0, -(self._account(limit, now_ms).credit // limit.rate))

    def charge(self, limit: Limit, size_bytes: int, now_ms: int) -> None:
        """Take note of bytes that a client took."""
        self._account(limit, now_ms).credit -= size_bytes * _SECOND_MS

    def _account(self, limit: Limit, now_ms: int) -> _Account:
        account = self._accounts.setdefault(limit, _Account(limit.rate, now_ms))
        account.credit = min(limit.rate * _SECOND_MS, account.credit + (now_ms - account.at_ms) * limit.rate)
        account.at_ms = now_ms
        return account
