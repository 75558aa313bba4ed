"""BatchLimit: how large the batches of one partition may be, learned from the responses of its brokers.

The limit of a broker (max.message.bytes of the topic) is in no response, and it can change. A batch that is refused
lowers the limit to the largest one that was accepted, or to half; full batches that are accepted raise it again. An
attempt that is refused doubles how many batches have to succeed before the next, so that a limit that stays costs few
requests.
"""

MOST_SUCCESSES = 128
NEAR = 8
"""A limit that is refused within an eighth of the present one is near enough."""


class BatchLimit:
    """The limit in bytes of what is sent.

    Args: most_bytes: batch.size.
    Attributes: bytes: the limit now.
    """

    __slots__ = ("_good_bytes", "_most_bytes", "_refused_bytes", "_successes", "_wanted_successes", "bytes")

    def __init__(self, most_bytes: int) -> None:
        self.bytes = most_bytes
        self._most_bytes = most_bytes
        self._good_bytes = 0
        """The largest limit under which a full batch was accepted; 0 if none was."""
        self._refused_bytes = 0
        """The smallest size above it that was refused; 0 if it is unknown."""
        self._successes = 0
        self._wanted_successes = 1

    @property
    def is_proven(self) -> bool:
        """Whether a full batch was accepted under the present limit. Until then one batch at a time tries it."""
        return self.bytes in (self._good_bytes, self._most_bytes)

    def refused(self, size_bytes: int) -> None:
        """Take note of a batch that was too large. One that is larger than the limit by now says nothing new."""
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
        """Take note of a batch that was accepted.

        Args: limit_bytes: what the limit was when it was made. size_bytes: its size.
        """
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
        else:  # it is near, or was raised meanwhile
            self._refused_bytes = 0
            self.bytes = min(2 * self.bytes, self._most_bytes)
