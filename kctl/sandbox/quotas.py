"""Byte-rate quotas of a node, and throttle times.

Source: KIP-124, KIP-219: the response is immediate, and the connection is not read for the throttle time.
"""

from enum import Enum
from typing import NamedTuple

_SECOND_MS = 1_000
MAX_RATE = 2**40
"""Maximum quota, in bytes per second."""


class Quota(Enum):
    """Kind of a quota. The value is the word in commands."""

    PRODUCE = "produce"
    FETCH = "fetch"

    @property
    def key(self) -> str:
        return "producer_byte_rate" if self is Quota.PRODUCE else "consumer_byte_rate"


class Limit(NamedTuple):
    """Quota of one client.

    Attributes:
        account: user and client ID that share the quota.
        rate: bytes per second.
    """

    quota: Quota
    account: tuple[str, str]
    rate: int


class _Account:
    """Credit of a client in thousandths of a byte, at most for one second. Negative after overuse."""

    __slots__ = ("at_ms", "credit")

    def __init__(self, rate: int, now_ms: int) -> None:
        self.credit = rate * _SECOND_MS
        self.at_ms = now_ms


class Quotas:
    def __init__(self) -> None:
        self._rates: dict[Quota, int] = {}
        self._accounts: dict[Limit, _Account] = {}

    def limit(self, quota: Quota, bytes_per_s: int | None) -> None:
        """Limit the bytes per second of each client, and restart all accounts. None removes the limit."""
        if bytes_per_s is not None and not 1 <= bytes_per_s <= MAX_RATE:
            raise ValueError(f"{bytes_per_s} bytes per second is invalid: use 1 to {MAX_RATE} are possible")
        self._accounts = {key: account for key, account in self._accounts.items() if key.quota is not quota}
        if bytes_per_s is None:
            self._rates.pop(quota, None)
        else:
            self._rates[quota] = bytes_per_s

    def limit_of(self, quota: Quota, client_id: str) -> Limit | None:
        rate = self._rates.get(quota)
        return None if rate is None else Limit(quota, ("", client_id), rate)

    def debt_ms(self, limit: Limit, now_ms: int) -> int:
        return max(0, -(self._account(limit, now_ms).credit // limit.rate))

    def charge(self, limit: Limit, size_bytes: int, now_ms: int) -> None:
        self._account(limit, now_ms).credit -= size_bytes * _SECOND_MS

    def _account(self, limit: Limit, now_ms: int) -> _Account:
        account = self._accounts.setdefault(limit, _Account(limit.rate, now_ms))
        account.credit = min(limit.rate * _SECOND_MS, account.credit + (now_ms - account.at_ms) * limit.rate)
        account.at_ms = now_ms
        return account
