"""BatchLimit: maximum batch size of a partition, learned from its brokers, whose max.message.bytes can change.

A rejected batch lowers the limit to the largest proven limit, or to half the size of the batch. Accepted full batches
raise the limit. Each rejected raise doubles the number of accepted batches that the next raise needs.
"""

MOST_SUCCESSES = 128
NEAR = 8
"""The limit is precise enough if the next larger rejected size is within one eighth of it."""


class BatchLimit:
    __slots__ = ("_good_bytes", "_most_bytes", "_refused_bytes", "_successes", "_wanted_successes", "bytes")

    def __init__(self, most_bytes: int) -> None:
        self.bytes = most_bytes
        self._most_bytes = most_bytes
        self._good_bytes = 0
        """Largest limit under which a full batch was accepted; 0 if none."""
        self._refused_bytes = 0
        """Smallest rejected size above the limit; 0 if unknown."""
        self._successes = 0
        self._wanted_successes = 1

    @property
    def is_proven(self) -> bool:
        """Whether a full batch was accepted under the limit. Until then, only one batch is in flight."""
        return self.bytes in (self._good_bytes, self._most_bytes)

    def refused(self, size_bytes: int) -> None:
        """Lower the limit after a batch of `size_bytes` was rejected; ignore a batch above the limit."""
        if size_bytes > self.bytes:
            return
        self._refused_bytes = size_bytes
        self._successes = 0
        if 0 < self._good_bytes < size_bytes:
            self.bytes = self._good_bytes
            self._wanted_successes = min(2 * self._wanted_successes, MOST_SUCCESSES)
        else:
            self.bytes = max(size_bytes // 2, 1)
            self._good_bytes = 0

    def accepted(self, limit_bytes: int, size_bytes: int) -> None:
        """Count an accepted batch that was made under `limit_bytes`; enough full batches raise the limit."""
        if limit_bytes != self.bytes or self.bytes == self._most_bytes or 2 * size_bytes <= self.bytes:
            return
        if self.bytes > self._good_bytes:
            self._good_bytes = self.bytes
            self._wanted_successes = 1
        self._successes += 1
        if self._successes < self._wanted_successes:
            return
        self._successes = 0
        if self._refused_bytes - self.bytes > self.bytes // NEAR:
            self.bytes = (self.bytes + self._refused_bytes) // 2
        else:  # the refused size is near, or the limit of the broker was raised
            self._refused_bytes = 0
            self.bytes = min(2 * self.bytes, self._most_bytes)
