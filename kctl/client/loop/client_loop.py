"""ClientLoop: network thread of a client: handles events, does due work, waits for I/O or the next deadline."""

import sys
from abc import ABC, abstractmethod
from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from contextlib import ExitStack
from typing import ClassVar, Generic, TypeVar

from kctl.client.cluster_client import ClusterClient
from kctl.client.loop import at_exit
from kctl.client.loop.close import CloseRequest
from kctl.client.loop.mailbox import Call, CallInterrupted, Mailbox
from kctl.client.requests.request import RequestManager

E = TypeVar("E")


class ClientLoop(ABC, Generic[E]):
    """Loop of one client.

    Attributes:
        close_request: close with the earliest deadline, or None.
        is_over: whether the close is done, or its deadline has passed.
    """

    EVENTS_PER_TURN: ClassVar[int]
    """Maximum number of events that a turn handles, before it polls the network."""

    def __init__(self, client: ClusterClient, mailbox: Mailbox[E]) -> None:
        self._client = client
        self._clock = client.clock
        self._mailbox = mailbox
        self.close_request: CloseRequest | None = None
        self.is_over = False
        self.ended_at_ms: int | None = None
        self._until_ms = 0
        """Time before which no deadline passes; 0 if events may have brought an earlier deadline."""
        self._taken: deque[E | Call | CallInterrupted] = deque()
        """Events of this turn that are not completely handled; the first one is being handled."""

    def run(self) -> None:
        """Run until the client is closed, then finish every call and close every socket, even after an error."""
        try:
            while not self.is_over:
                self.turn()
        except BaseException as error:
            self._mailbox.failure = error
            raise
        finally:
            with ExitStack() as steps:  # in reverse order, each even if another one fails
                steps.callback(at_exit.forget, self._mailbox)
                steps.callback(self._finish)
                steps.callback(self._client.close)
                steps.callback(self._fail_outstanding)

    def _finish(self) -> None:
        """Accept no more events, and end the remaining ones; the event that was being handled is last."""
        self.ended_at_ms = self._clock.now_ms()
        self._mailbox.is_finished = True
        first = [self._taken.popleft()] if self._taken else []
        self._end([*self._taken, *self._mailbox.pop_some(sys.maxsize), *first])

    def turn(self) -> None:
        """Do everything that is due, then wait for I/O, a wake-up, or the next deadline.

        If a wake-up comes late and an earlier turn has handled its cause, the turn only continues the wait.
        """
        mailbox = self._mailbox
        if mailbox.awake():
            self._take()
        elif self._client.network.is_only_woken:
            if mailbox.fall_asleep():
                self._client.poll_again()
            return
        now_ms = self._clock.now_ms()
        self._advance(now_ms)
        if self.is_over:
            return
        self._until_ms = self._run(now_ms)
        self._client.poll(self._until_ms if mailbox.fall_asleep() else now_ms)

    def _take(self) -> None:
        mailbox = self._mailbox
        while (request := mailbox.pop_close()) is not None:
            if self.close_request is None or request.deadline_at_ms < self.close_request.deadline_at_ms:
                self.close_request = request
        events = mailbox.pop_some(self.EVENTS_PER_TURN)  # after the close: events posted before it are included
        if events:
            self._taken.extend(events)
            self._apply(self._each_taken())
        self._until_ms = 0

    def _each_taken(self) -> Iterator[E | Call | CallInterrupted]:
        while self._taken:
            yield self._taken[0]
            self._taken.popleft()

    def _poll(self, managers: Iterable[RequestManager], now_ms: int, until_ms: int) -> int:
        for manager in managers:
            wanted = manager.poll(now_ms)
            until_ms = min(until_ms, wanted.next_deadline_at_ms)
            for request in wanted.requests:
                self._client.send(request)
        return until_ms

    @abstractmethod
    def _apply(self, events: Iterable[E | Call | CallInterrupted]) -> None:
        """Apply events, in order."""

    @abstractmethod
    def _advance(self, now_ms: int) -> None:
        """Apply the deadlines that have passed and continue a close; at its end, set `is_over`."""

    @abstractmethod
    def _run(self, now_ms: int) -> int:
        """Send due requests; return the time by which the next turn must begin."""

    @abstractmethod
    def _fail_outstanding(self) -> None:
        """Fail the remaining work before the sockets close."""

    @abstractmethod
    def _end(self, events: Sequence[E | Call | CallInterrupted]) -> None:
        """Finish all remaining calls, including calls among `events`."""
