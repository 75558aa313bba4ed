"""CompressionRatios: expected ratio of compressed to plain size by topic, to fill batches. The network loop owns it.

Source: KIP-126; Java's CompressionRatioEstimator. Differs: the plain records of a batch have at most max.request.size,
so a wrong estimate makes no batch too large for a request.
"""

from kctl.client.config import ProducerConfig

_IMPROVING_STEP = 0.005
_DETERIORATING_STEP = 0.05
_MARGIN = 1.05
"""Safety factor by which batches are assumed to compress worse than estimated."""


class CompressionRatios:
    def __init__(self, config: ProducerConfig) -> None:
        self._is_compressed = config.compression_type != "none"
        self._least = min(1.0, config.batch_size / config.max_request_size)
        self._ratios: dict[str, float] = {}

    def expected(self, topic: str) -> float:
        """Return the ratio to assume for the next batch; 1.0 before the first batch."""
        return min(1.0, max(self._least, self._ratios.get(topic, 1.0) * _MARGIN))

    def observe(self, topic: str, ratio: float) -> None:
        """Adjust the estimate: slowly if compression improves, quickly if it worsens."""
        if not self._is_compressed:
            return
        current = self._ratios.get(topic, 1.0)
        if ratio < current:
            self._ratios[topic] = max(current - _IMPROVING_STEP, ratio)
        else:
            self._ratios[topic] = min(current + _DETERIORATING_STEP, ratio)

    def reset(self, topic: str) -> None:
        self._ratios.pop(topic, None)
