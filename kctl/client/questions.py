"""Questions: what any broker can answer is asked of another one too when the first keeps silent.

Owns the questions under way and their answers; what is asked, and whom first, is the caller's. A broker answers these
from memory, so one that is silent for a second is frozen or cut off, and would hold the question, and with it every
search for a new leader or coordinator, until request.timeout.ms. Shown by tests/unit/test_questions.py and
tests/sim/consumer/test_second_opinion.py.
"""

from kctl.client.clock import FOREVER_MS, Clock
from kctl.client.network.in_flight import Answer, Outgoing
from kctl.client.network.network_client import NetworkClient

SILENCE_MS = 1000
"""How long one broker may keep silent before the next is asked as well."""


class Question:
    """One question under way."""

    __slots__ = ("ask_another_at_ms", "asked", "deadline_at_ms", "outgoing", "unanswered")

    def __init__(self, outgoing: Outgoing, deadline_at_ms: int) -> None:
        self.outgoing = outgoing
        self.deadline_at_ms = deadline_at_ms
        self.asked: list[int] = []
        """The nodes that were asked, in order."""
        self.unanswered = 0
        """How many of them may still answer."""
        self.ask_another_at_ms = FOREVER_MS


class Questions:
    """The questions under way of one client.

    Differs: Java waits for the broker it asked first until request.timeout.ms.
    """

    def __init__(self, network: NetworkClient, clock: Clock) -> None:
        self._network = network
        self._clock = clock
        self._open: dict[int, Question] = {}
        self._last_number = 0

    def ask(self, outgoing: Outgoing) -> None:
        """Ask a ready node, and others when it is silent; `on_done` gets the first answer, or the last failure.

        `timeout_ms` is for the whole question, from now; after `wanted_until_ms` no other node is asked.
        """
        self._last_number += 1
        question = Question(outgoing, self._clock.start_ms() + outgoing.timeout_ms)
        self._open[self._last_number] = question
        self._put(self._last_number, question, outgoing.node_id, outgoing.timeout_ms)

    def run(self, now_ms: int) -> int:
        """Ask others where the first are silent; return when to run again at the latest."""
        next_at_ms = FOREVER_MS
        for number, question in list(self._open.items()):
            if now_ms >= min(question.deadline_at_ms, question.outgoing.wanted_until_ms):
                continue  # what was sent ends by itself
            if now_ms >= question.ask_another_at_ms:
                node = self._network.any_ready_node(avoid=question.asked)
                if node is None:
                    continue  # one is being connected, if there is one; that ends a poll
                self._put(number, question, node.node_id, question.deadline_at_ms - now_ms)
            next_at_ms = min(next_at_ms, question.ask_another_at_ms)
        return next_at_ms

    def _put(self, number: int, question: Question, node_id: int, timeout_ms: int) -> None:
        question.asked.append(node_id)
        question.unanswered += 1
        question.ask_another_at_ms = self._clock.start_ms() + SILENCE_MS
        self._network.send(
            question.outgoing._replace(
                node_id=node_id, timeout_ms=timeout_ms, on_done=lambda answer: self._on_answer(number, answer)
            )
        )

    def _on_answer(self, number: int, answer: Answer) -> None:
        question = self._open.get(number)
        if question is None:
            return  # another one was faster
        question.unanswered -= 1
        if answer.response is not None or question.unanswered == 0:
            del self._open[number]
            question.outgoing.on_done(answer)
