"""CompressionRatios: the expected compression of a topic's records, by which compressed batches fill batch.size.

Owned by the network loop.

Source: KIP-126; Java's CompressionRatioEstimator. Differs: a batch never has more records than max.request.size holds
uncompressed, so a wrong estimate makes no batch that is too large for a request.
"""

from kctl.client.config import ProducerConfig

_IMPROVING_STEP = 0.005
_DETERIORATING_STEP = 0.05
_MARGIN = 1.05
"""Batches are cut as if they became this much larger than estimated."""


class CompressionRatios:
    """The estimates, by topic: compressed size over plain size."""

    def __init__(self, config: ProducerConfig) -> None:
        self._is_compressed = config.compression_type != "none"
        self._least = min(1.0, config.batch_size / config.max_request_size)
        self._ratios: dict[str, float] = {}

    def expected(self, topic: str) -> float:
        """Return the ratio by which a batch of the topic is cut: 1.0 before anything is known."""
        return min(1.0, max(self._least, self._ratios.get(topic, 1.0) * _MARGIN))

    def observe(self, topic: str, ratio: float) -> None:
        """Learn from a batch: slowly where it is better than expected, fast where it is worse."""
        if not self._is_compressed:
            return
        current = self._ratios.get(topic, 1.0)
        if ratio < current:
            self._ratios[topic] = max(current - _IMPROVING_STEP, ratio)
        else:
            self._ratios[topic] = min(current + _DETERIORATING_STEP, ratio)

    def reset(self, topic: str) -> None:
        """Expect nothing of compression: a broker found a batch too large."""
        self._ratios.pop(topic, None)
