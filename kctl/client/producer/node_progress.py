"""NodeProgress: how long each node has had data waiting that it does not take. Pure.

Shown by tests/unit/producer/test_partitioner.py. Source: KIP-794, `NodeLatencyStats` of Java's RecordAccumulator.
"""


class NodeProgress:
    """For each node, when data was last due for it and when it last took some."""

    def __init__(self) -> None:
        self._due_at_ms: dict[int, int] = {}
        self._took_at_ms: dict[int, int] = {}

    def has_data(self, node_id: int, now_ms: int) -> None:
        """Note that a batch is due for the node, which cannot take it now."""
        self._due_at_ms[node_id] = now_ms
        self._took_at_ms.setdefault(node_id, now_ms)

    def took_data(self, node_id: int, now_ms: int) -> None:
        """Note that the node takes what is due."""
        self._due_at_ms[node_id] = self._took_at_ms[node_id] = now_ms

    def waited_ms(self, node_id: int) -> int:
        """Return how long the node has left due data alone."""
        return self._due_at_ms.get(node_id, 0) - self._took_at_ms.get(node_id, 0)
