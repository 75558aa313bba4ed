"""CompressionRatios: expected compression of each topic, used to fill compressed batches up to batch.size.

Owned by the network loop.

Source: KIP-126; Java's CompressionRatioEstimator. Differs: a batch never has more records than max.request.size holds
uncompressed, so a wrong estimate makes no batch that is too large for a request.
"""

from kctl.client.config import ProducerConfig

_IMPROVING_STEP = 0.005
_DETERIORATING_STEP = 0.05
_MARGIN = 1.05
"""Safety factor: batches are cut as if they compressed this much worse than estimated."""


class CompressionRatios:
    """Estimates by topic: compressed size over plain size."""

    def __init__(self, config: ProducerConfig) -> None:
        self._is_compressed = config.compression_type != "none"
        self._least = min(1.0, config.batch_size / config.max_request_size)
        self._ratios: dict[str, float] = {}

    def expected(self, topic: str) -> float:
        """Return the ratio used to cut a batch of the topic; 1.0 before anything is known."""
        return min(1.0, max(self._least, self._ratios.get(topic, 1.0) * _MARGIN))

    def observe(self, topic: str, ratio: float) -> None:
        """Update the estimate from a batch: slowly toward better compression, fast toward worse."""
        if not self._is_compressed:
            return
        current = self._ratios.get(topic, 1.0)
        if ratio < current:
            self._ratios[topic] = max(current - _IMPROVING_STEP, ratio)
        else:
            self._ratios[topic] = min(current + _DETERIORATING_STEP, ratio)

    def reset(self, topic: str) -> None:
        """Expect no compression, after a broker found a batch too large."""
        self._ratios.pop(topic, None)
