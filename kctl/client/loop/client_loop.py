"""ClientLoop: the network thread of a client: takes events, runs what is due, waits for I/O or the next deadline.

Owns the order of these steps and the life of the thread. Which events there are, which managers are polled and how a
close continues is each client's own (close.py has the sequence).
"""

import sys
from abc import ABC, abstractmethod
from collections.abc import Iterable, Sequence
from typing import ClassVar, Generic, TypeVar

from kctl.client.cluster_client import ClusterClient
from kctl.client.loop import at_exit
from kctl.client.loop.close import CloseRequest
from kctl.client.loop.mailbox import Call, CallInterrupted, Mailbox
from kctl.client.requests.request import RequestManager

E = TypeVar("E")


class ClientLoop(ABC, Generic[E]):
    """The loop of one client.

    Attributes:
        close_request: of close() once that is under way; of several the one with the earliest deadline.
        is_over: the close is done, or its deadline has passed.
        ended_at_ms: when the loop ended.
    """

    EVENTS_PER_TURN: ClassVar[int]
    """Events taken before the network is looked at again."""

    def __init__(self, client: ClusterClient, mailbox: Mailbox[E]) -> None:
        self._client = client
        self._clock = client.clock
        self._mailbox = mailbox
        self.close_request: CloseRequest | None = None
        self.is_over = False
        self.ended_at_ms: int | None = None

    def run(self) -> None:
        """Run until closed. However it ends, every call is answered and no socket is left."""
        try:
            while not self.is_over:
                self.turn()
        except BaseException as error:
            self._mailbox.failure = error
            raise
        finally:
            self._fail_outstanding()
            self._client.close()
            self.ended_at_ms = self._clock.now_ms()
            self._mailbox.is_finished = True
            self._end(self._mailbox.pop_some(sys.maxsize))
            at_exit.forget(self._mailbox)

    def turn(self) -> None:
        """Do everything that is due, then wait for I/O, a wake-up or the next deadline."""
        mailbox = self._mailbox
        mailbox.awake()
        while (request := mailbox.pop_close()) is not None:
            if self.close_request is None or request.deadline_at_ms < self.close_request.deadline_at_ms:
                self.close_request = request
        events = mailbox.pop_some(self.EVENTS_PER_TURN)  # after the close: what was posted before it is taken with it
        if events:
            self._apply(events)
        now_ms = self._clock.now_ms()
        self._advance(now_ms)
        if self.is_over:
            return
        until_ms = self._run(now_ms)
        if not mailbox.fall_asleep():
            until_ms = now_ms
        self._client.poll(until_ms)

    def _poll(self, managers: Iterable[RequestManager], now_ms: int, until_ms: int) -> int:
        """Send what the managers want to send now; return when the first of them wants to be polled again."""
        for manager in managers:
            wanted = manager.poll(now_ms)
            until_ms = min(until_ms, wanted.next_deadline_at_ms)
            for request in wanted.requests:
                self._client.send(request)
        return until_ms

    @abstractmethod
    def _apply(self, events: Sequence[E | Call | CallInterrupted]) -> None:
        """Handle events, in their order."""

    @abstractmethod
    def _advance(self, now_ms: int) -> None:
        """Apply the deadlines that have passed and continue a close; sets `is_over`."""

    @abstractmethod
    def _run(self, now_ms: int) -> int:
        """Send what is due; return the instant of the next turn at the latest."""

    @abstractmethod
    def _fail_outstanding(self) -> None:
        """Fail what is left, before the sockets close."""

    @abstractmethod
    def _end(self, events: Sequence[E | Call | CallInterrupted]) -> None:
        """Answer every call that is left, also those among the last events."""
