"""CompressionRatios: expected compressed over plain size by topic, to fill compressed batches. Owned by the network
loop.

Source: KIP-126; Java's CompressionRatioEstimator. Differs: batches have at most max.request.size of plain records, so
wrong estimates make no batch too large for a request.
"""

from kctl.client.config import ProducerConfig

_IMPROVING_STEP = 0.005
_DETERIORATING_STEP = 0.05
_MARGIN = 1.05
"""Safety factor: batches are cut as if they compressed this much worse than estimated."""


class CompressionRatios:
    def __init__(self, config: ProducerConfig) -> None:
        self._is_compressed = config.compression_type != "none"
        self._least = min(1.0, config.batch_size / config.max_request_size)
        self._ratios: dict[str, float] = {}

    def expected(self, topic: str) -> float:
        """Return the ratio used to cut a batch; 1.0 before the first batch."""
        return min(1.0, max(self._least, self._ratios.get(topic, 1.0) * _MARGIN))

    def observe(self, topic: str, ratio: float) -> None:
        """Adjust the estimate: slowly toward better compression, fast toward worse."""
        if not self._is_compressed:
            return
        current = self._ratios.get(topic, 1.0)
        if ratio < current:
            self._ratios[topic] = max(current - _IMPROVING_STEP, ratio)
        else:
            self._ratios[topic] = min(current + _DETERIORATING_STEP, ratio)

    def reset(self, topic: str) -> None:
        self._ratios.pop(topic, None)
