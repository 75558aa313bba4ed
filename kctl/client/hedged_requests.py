"""Hedged requests: a request for any broker is sent to another broker after 1s without a response.

Brokers respond from memory, so a broker that does not respond is frozen or cut off. Differs: Java waits for the first
broker until request.timeout.ms.
"""

from kctl.client.clock import FOREVER_MS, Clock
from kctl.client.network.in_flight import Answer, Outgoing
from kctl.client.network.network_client import NetworkClient

SILENCE_MS = 1000
"""Wait for a response before the request is also sent to the next broker."""
MOST_HEDGES = 8
"""Maximum number of requests to third and further brokers, over all requests of a client.

More would slow down slow brokers.
"""


class HedgedRequest:
    __slots__ = ("asked", "deadline_at_ms", "hedge_at_ms", "outgoing", "pending")

    def __init__(self, outgoing: Outgoing, deadline_at_ms: int) -> None:
        self.outgoing = outgoing
        self.deadline_at_ms = deadline_at_ms
        self.asked: list[int] = []
        """Nodes to which the request was sent, in order."""
        self.pending = 0
        """Number of nodes that may still respond."""
        self.hedge_at_ms = FOREVER_MS


class HedgedRequests:
    def __init__(self, network: NetworkClient, clock: Clock) -> None:
        self._network = network
        self._clock = clock
        self._open: dict[int, HedgedRequest] = {}
        self._last_number = 0
        self._hedges = 0
        """Number of requests to third and further brokers without a response."""

    def send(self, outgoing: Outgoing) -> HedgedRequest:
        """Send a request to a ready broker, and to others if it does not respond.

        `on_done` gets the first response, or the last failure. `timeout_ms` applies to all attempts together; after
        `wanted_until_ms`, no other broker is tried. The returned request may have failed already.
        """
        self._last_number += 1
        request = HedgedRequest(outgoing, self._clock.start_ms() + outgoing.timeout_ms)
        self._open[self._last_number] = request
        self._send_to(self._last_number, request, outgoing.node_id, outgoing.timeout_ms)
        return request

    def run(self, now_ms: int) -> int:
        """Send requests without a response to further brokers; return the time of the next call."""
        next_at_ms = FOREVER_MS
        if not self._open:
            return next_at_ms
        for number, request in list(self._open.items()):
            if now_ms >= min(request.deadline_at_ms, request.outgoing.wanted_until_ms):
                continue  # requests in flight end at their own deadlines
            if now_ms >= request.hedge_at_ms:
                may_hedge = len(request.asked) == 1 or self._hedges < MOST_HEDGES
                node = self._network.any_ready_node(avoid=request.asked) if may_hedge else None
                if node is None:
                    continue  # a response or a ready connection ends the poll
                self._send_to(number, request, node.node_id, request.deadline_at_ms - now_ms)
            next_at_ms = min(next_at_ms, request.hedge_at_ms)
        return next_at_ms

    def _send_to(self, number: int, request: HedgedRequest, node_id: int, timeout_ms: int) -> None:
        request.asked.append(node_id)
        request.pending += 1
        is_hedge = len(request.asked) > 2
        self._hedges += is_hedge
        request.hedge_at_ms = self._clock.start_ms() + SILENCE_MS
        self._network.send(
            request.outgoing._replace(
                node_id=node_id,
                timeout_ms=timeout_ms,
                on_done=lambda answer: self._on_answer(number, answer, is_hedge=is_hedge),
            )
        )

    def _on_answer(self, number: int, answer: Answer, *, is_hedge: bool) -> None:
        self._hedges -= is_hedge
        request = self._open.get(number)
        if request is None:
            return  # another node was faster
        request.pending -= 1
        if answer.response is not None or request.pending == 0:
            del self._open[number]
            request.outgoing.on_done(answer)
