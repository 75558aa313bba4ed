"""Layer between a node and its handlers: error codes, throttling, and a record of requests.

The handlers of the sandbox are wrapped for one run and restored after it.
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from kctl.client.broker_errors import ErrorCode
from kctl.client.protocol.api.fetch import FetchRequest, FetchResponse
from kctl.client.protocol.schema import Request, Response
from kctl.sandbox.apis import HANDLERS
from kctl.sandbox.call import Call, Handler
from kctl.sandbox.error_answers import error_answer, has_error_code
from tests.sim.chaos.distortions import Distortion, distort


def failing_apis() -> set[str]:
    """Return the APIs that can be told to fail."""
    return {handler.request.NAME for handler in HANDLERS.values() if has_error_code(handler.request)}


Noted = Callable[[Call, Any, Response | None], None]


class Replies:
    """Current changes to the responses of all nodes."""

    def __init__(self) -> None:
        self.throttle_ms = 0
        self.late_ms: dict[str, int] = {}
        """Delay of responses by API; later responses on the connection wait."""
        self.without_progress: dict[int, bool] = {}
        """Nodes whose fetch responses bring nothing new; True: the batch before the position, False: no records."""
        self.unanswered: set[str] = set()
        """APIs that get no response."""
        self._refusals: dict[str, list[ErrorCode]] = {}
        self._distortions: dict[str, list[Distortion]] = {}
        self._noted: list[Noted] = []

    def refuse(self, api: str, code: ErrorCode, times: int) -> None:
        """Fail the next requests of an API, without executing them."""
        self._refusals.setdefault(api, []).extend([code] * times)

    def distort(self, api: str, how: Distortion, times: int) -> None:
        """Distort the next responses of an API."""
        self._distortions.setdefault(api, []).extend([how] * times)

    def heal(self) -> None:
        """Remove all changes to responses."""
        self._distortions.clear()
        self._refusals.clear()
        self.unanswered.clear()
        self.without_progress.clear()
        self.late_ms.clear()
        self.throttle_ms = 0

    def on_request(self, noted: Noted) -> None:
        """Call `noted` for every request, with its response if it is immediate."""
        self._noted.append(noted)

    def answer(self, handler: Handler[Any], call: Call, request: Request) -> Response | None:
        """Answer in place of the handler, or with it."""
        api = handler.request.NAME
        late_ms = self.late_ms.get(api)
        if late_ms:
            self._delay(call, late_ms)
        response = self._answer(handler, call, request)
        if late_ms and response is not None:
            call.answer(response)
            return None
        return response

    @staticmethod
    def _delay(call: Call, late_ms: int) -> None:
        """Let the response leave so much later than the handler gives it."""
        answer, scheduler = call._answer, call.cluster.scheduler

        def answer_late(response: Response | None) -> None:
            scheduler.call_later(late_ms, lambda: answer(response))

        call._answer = answer_late

    def _answer(self, handler: Handler[Any], call: Call, request: Request) -> Response | None:
        api = handler.request.NAME
        if isinstance(request, FetchRequest) and call.node.node_id in self.without_progress:
            request.max_wait_ms = 0  # it responds immediately
        if api in self.unanswered:
            return None
        left = self._refusals.get(api)
        if api == "Metadata" and left:
            response = handler.handle(call, request)
            self._refuse_topics(response, left.pop(0))
        elif left:
            response = error_answer(request, call.version, left.pop(0))
        else:
            response = handler.handle(call, request)
        if call.node.node_id in self.without_progress and isinstance(response, FetchResponse):
            self._replace_records(call, response)
        if response is not None and self.throttle_ms and hasattr(response, "throttle_time_ms"):
            response.throttle_time_ms = self.throttle_ms
        if response is not None and self._distortions.get(api):
            distort(response, self._distortions[api].pop(0), call.version)
        for noted in self._noted:
            noted(call, request, response)
        return response

    @staticmethod
    def _refuse_topics(response: Any, code: ErrorCode) -> None:
        for topic in response.topics:
            topic.error_code = code
            topic.partitions = []

    def is_without_progress(self, node_id: int, response: Response | None) -> bool:
        """Return whether a fetch response brings no new records."""
        return node_id in self.without_progress and response is not None

    def _replace_records(self, call: Call, response: FetchResponse) -> None:
        """Replace records by the batch before them, if there is one."""
        for topic in response.responses:
            for data in topic.partitions:
                if not data.records:
                    continue
                first_offset = int.from_bytes(data.records[:8], "big")
                named = call.cluster.topics[topic.topic] if topic.topic else call.cluster.topic_of_id(topic.topic_id)
                assert named is not None
                batches = named.partitions[data.partition_index].log.batches
                before = [each.data for each in batches if each.header.last_offset < first_offset]
                data.records = before[-1] if before and self.without_progress[call.node.node_id] else b""

    @contextmanager
    def installed(self) -> Iterator[None]:
        """Stand between nodes and handlers for as long as this lasts."""
        before = dict(HANDLERS)
        try:
            for key, handler in before.items():
                HANDLERS[key] = handler._replace(handle=self._wrapped(handler))
            yield
        finally:
            HANDLERS.update(before)

    @staticmethod
    @contextmanager
    def closing(api: str) -> Iterator[None]:
        """Let nodes close the connection of each request of an API for as long as this lasts."""
        (key,) = [key for key, handler in HANDLERS.items() if api == handler.request.NAME]
        handler = HANDLERS.pop(key)
        try:
            yield
        finally:
            HANDLERS[key] = handler

    @staticmethod
    @contextmanager
    def silent(api: str, is_silent: Callable[[], bool]) -> Iterator[None]:
        """Leave requests of an API without a response while `is_silent`, inside the block."""
        (key,) = [key for key, handler in HANDLERS.items() if api == handler.request.NAME]
        handler = HANDLERS[key]
        HANDLERS[key] = handler._replace(
            handle=lambda call, request: None if is_silent() else handler.handle(call, request)
        )
        try:
            yield
        finally:
            HANDLERS[key] = handler

    def _wrapped(self, handler: Handler[Any]) -> Callable[[Call, Any], Response | None]:
        return lambda call, request: self.answer(handler, call, request)
