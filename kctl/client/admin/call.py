"""One bounded admin call, retried until its deadline, and the outcome of each item."""

from collections.abc import Callable, Iterable, Mapping
from functools import partial
from itertools import filterfalse
from typing import Generic, NamedTuple, TypeVar, cast

from kctl.client.admin.unconfirmed import Unconfirmed, is_left_open
from kctl.client.backoff import ExponentialBackoff
from kctl.client.broker_errors import ErrorCode, broker_error
from kctl.client.clock import Timer, duration_text
from kctl.client.cluster import NO_NODE
from kctl.client.cluster_client import ClusterClient, TimeMark
from kctl.client.errors import (
    AdvertisedAddressError,
    ApiTimeout,
    BrokerError,
    ConnectionLost,
    KafkaError,
    RemoteProtocolError,
    RequestTimeout,
)
from kctl.client.network.in_flight import Answer, Outgoing
from kctl.client.protocol.forwarding import FORWARDED
from kctl.client.protocol.schema import Request, Response
from kctl.client.requests.items import each_once
from kctl.client.requests.retry import ADMIN, RetryPause
from kctl.client.wording import listed

K = TypeVar("K")
V = TypeVar("V")
R = TypeVar("R", bound=Response)

UNKNOWN_CONTROLLER_MS = 5000
"""Time in ms for which metadata may list a controller that is not among the brokers, while a new one is elected."""
_UNKNOWN_CONTROLLER_UPDATES = 3

Route = Callable[[ClusterClient], int | None]
"""Function that returns the id of a node that is ready for a request. If no node is ready, it starts to connect and
returns None.
"""
Build = Callable[[int], Request]
"""Function that builds a request. Its argument is the broker's timeout in ms."""
Follow = Callable[[Answer], Build | None]
"""Function that returns the builder of the next request to the node that responded, or None."""
Items = Iterable[tuple[K, V | KafkaError]] | KafkaError
"""Items of a response, or the error of the whole response."""


def any_node(client: ClusterClient) -> int | None:
    node = client.network.any_ready_node()
    return None if node is None else node.node_id


def controller(client: ClusterClient) -> int | None:
    """Return the id of the ready controller, or of a broker that forwards requests if the controller cannot be reached.

    Without a ready node return None. Request metadata if the controller is unknown.
    """
    node = client.metadata.cluster.controller()
    if node is None:
        client.metadata.request_update()
        return None
    return node.node_id if make_ready(client, node.node_id) else _forwarder(client, node.node_id)


def _forwarder(client: ClusterClient, controller_id: int) -> int | None:
    """Return a ready broker that forwards requests to the controller, once the connection to the controller has failed.

    In clusters with KRaft, metadata lists a random broker as the controller, and each broker forwards (KIP-590).
    Differs: Java waits for metadata with another broker.
    """
    if client.network.status.node_error(controller_id) is None:
        return None
    from kctl.client.protocol.api.cluster import DescribeQuorumRequest  # deferred import: only for unreachable nodes

    node = client.network.any_ready_node(avoid=(controller_id,))
    forwards = node is not None and client.network.supports(node.node_id, DescribeQuorumRequest)
    return node.node_id if node is not None and forwards else None


def make_ready(client: ClusterClient, node_id: int) -> bool:
    """Connect to a broker, and return whether it is ready. Request new metadata if the broker is unknown or failed."""
    if client.metadata.cluster.node(node_id) is None:
        client.metadata.request_update()
        return False
    if client.network.ready(node_id):
        return True
    if client.network.status.node_error(node_id) is not None:
        client.metadata.request_update()
    return False


def broker(node_id: int) -> Route:
    """Return the route to a broker. The route raises KafkaError if newer metadata lacks the broker."""
    known: list[int] = []

    def route(client: ClusterClient) -> int | None:
        if not known:
            known.append(client.metadata.version)
        if client.metadata.cluster.node(node_id) is None and client.metadata.version > known[0]:
            raise not_registered(node_id)
        return node_id if make_ready(client, node_id) else None

    return route


def not_registered(node_id: int) -> BrokerError:
    return broker_error(ErrorCode.BROKER_ID_NOT_REGISTERED, f"find broker {node_id}")


class Unanswered:
    """Requests of a change without a response, which may have been carried out."""

    def __init__(self) -> None:
        self._count = 0

    def sent(self) -> None:
        self._count += 1

    def answered(self) -> bool:
        """Count a response. Return whether an earlier response was lost."""
        self._count -= 1
        return self._count > 0


class Results(Generic[K, V]):
    """Outcome of every item of a call: in `done` with its value, or in `failed` with its error."""

    __slots__ = ("done", "failed")

    def __init__(self, done: Mapping[K, V], failed: Mapping[K, KafkaError]) -> None:
        self.done = dict(done)
        self.failed = dict(failed)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Results) and (self.done, self.failed) == (other.done, other.failed)

    def __reduce__(self) -> tuple[object, ...]:
        return type(self), (self.done, self.failed)

    __hash__ = None  # type: ignore[assignment]  # the mappings can be changed

    def __getitem__(self, key: K) -> V:
        """Return the item's value, or raise its error."""
        if key in self.failed:
            raise self.failed[key]
        return self.done[key]

    def without_values(self) -> "Results[K, None]":
        """Return the results with None as values."""
        return Results(dict.fromkeys(self.done), self.failed)

    def raise_first(self) -> None:
        """Raise the error of the first failed item, if any."""
        for error in self.failed.values():
            raise error

    def __repr__(self) -> str:
        return f"Results(done={self.done!r}, failed={self.failed!r})"


class Span(NamedTuple):
    timer: Timer
    since: TimeMark


class Call:
    def __init__(
        self,
        client: ClusterClient,
        backoff: ExponentialBackoff,
        span: Span,
        *,
        request_timeout_ms: int,
        retries: int,
        what: str,
        partial_ms: int | None = None,
    ) -> None:
        """Start the call.

        Args:
            partial_ms: time after which the call no longer waits for the rest if it has a first result.
        """
        self.client = client
        self._span, self._since = span
        self.timer = self._span
        self._partial_at_ms = self._deadline_at_ms = self.timer.deadline_at_ms
        if partial_ms is not None:
            self.timer = Timer.until(client.clock, self._deadline_at_ms)  # separate timer: it may end before the span
            self._partial_at_ms = min(self._deadline_at_ms, self.timer.start_at_ms + partial_ms)
        self.what = what
        self._pause = RetryPause(backoff)
        self._request_timeout_ms = request_timeout_ms
        self._retries = retries
        self._last_error: KafkaError | None = None
        self._forwarded = ""
        """Kafka's name of the pending request that KRaft brokers forward to the controller."""
        self._unconfirmed = Unconfirmed()
        with client.steps:
            client.network.status.clear_refusals()

    def wait_until(self, condition: Callable[[], bool], waiting_for: str | Callable[[], str]) -> None:
        """Drive the network until `condition` holds, because admin clients have no thread (docs/decisions/0017).

        Responses that arrived before the deadline count even if this process was suspended until later.

        Args:
            waiting_for: completes "timed out after ... while". A function is called at the deadline.

        Raises:
            ApiTimeout: with the time breakdown and the last error of the call, metadata or brokers.
            TransportError: immediately, if no wait can help (wrong credentials, not a Kafka broker).
        """
        client, timer = self.client, self.timer
        is_last_poll_over = False
        with client.steps:
            while not condition():
                fatal = client.network.status.fatal_error()
                if fatal is not None:
                    raise self._unconfirmed.mark(fatal)
                timer.update()
                if is_last_poll_over:
                    self._span.update()
                    text = waiting_for if isinstance(waiting_for, str) else waiting_for()
                    error = ApiTimeout(
                        f"{self.what}: {text}{self._pauses()}",
                        timeout_ms=self._span.timeout_ms,
                        elapsed_ms=self._span.elapsed_ms,
                        cause=self._cause(),
                        account=client.account_since(self._since),
                    )
                    error.forwarded = self._forwarded
                    raise self._unconfirmed.mark(error)
                is_last_poll_over = timer.is_expired
                if timer.is_expired:
                    client.poll_arrived()
                else:
                    client.poll(timer.deadline_at_ms)

    def _cause(self) -> KafkaError | None:
        cause = self._last_error
        if cause is None and not self._forwarded:  # no connection is the cause while the controller does not respond
            cause = self.client.last_error()
        return None if isinstance(cause, RequestTimeout) and cause.is_rest else cause

    def _pauses(self) -> str:
        pauses = [
            f"{node} throttles this client for another {duration_text(left_ms)} because of a quota"
            for node, left_ms in self.client.network.status.throttling()
        ]
        return "".join(f", {each}" for each in pauses)

    def ask(self, route: Route, build: Build, response_type: type[R]) -> R:
        """Send a request to the broker of the route, with retries, and return the response.

        `build` is called when the broker is ready, and can check its versions.

        Raises: ApiTimeout; KafkaError: the error is not retriable.
        """
        answer = self.answer_of(route, build, response_type)
        assert isinstance(answer.response, response_type)
        return answer.response

    def answer_of(
        self, route: Route, build: Build, response_type: type[Response], *, is_for_any: bool = False
    ) -> Answer:
        """Send a request with retries, and return the response with its broker.

        Args:
            is_for_any: whether any broker may get the request, as with the route `any_node`; see `send`.
        """
        while True:
            node_id = self.ready_broker(route)
            answer = self.ask_once(node_id, build, response_type.NAME, is_for_any=is_for_any or route is any_node)
            if isinstance(answer.response, response_type):
                return answer
            self.pause(answer.error or RemoteProtocolError(f"no response while {self.what}", api=response_type.NAME))

    def ask_items(
        self, route: Route, build: Build, response_type: type[R], keys: Iterable[K], read: Callable[[R], Items[K, V]]
    ) -> dict[K, V | KafkaError]:
        return self.items(self.answer_of(route, build, response_type), keys, read)

    def ask_each(
        self,
        keys: Iterable[K],
        route: Route,
        build: Callable[[list[K], int], Request],
        response_type: type[R],
        read: Callable[[R], Items[K, V]],
        is_retried: Callable[[KafkaError, int], bool],
    ) -> Results[K, V]:
        """Return the outcome of each item as `each` does. `build` builds one request for all pending items."""

        def attempt(pending: list[K]) -> dict[K, V | KafkaError]:
            return self.ask_items(route, partial(build, pending), response_type, pending, read)

        return self.each(keys, attempt, is_retried)

    def items(
        self, answer: Answer | KafkaError, keys: Iterable[K] | None, read: Callable[[R], Items[K, V]]
    ) -> dict[K, V | KafkaError]:
        """Return the outcome of each item. Missing and duplicate items become errors.

        Args:
            keys: the requested items. None means all.
        """
        if isinstance(answer, KafkaError):
            return dict.fromkeys(keys or (), answer)
        assert answer.response is not None
        found, api = read(cast("R", answer.response)), answer.response.NAME
        if isinstance(found, KafkaError):
            return dict.fromkeys(keys or (), self.judged(found, api, answer.node_id))
        items = each_once(found, keys, api, self.name_of(answer.node_id))
        refused_first = sorted(items.items(), key=lambda item: is_left_open(item[1], api))
        return {key: self.judged(item, api, answer.node_id) for key, item in refused_first}

    def judged(self, item: V | KafkaError, api: str, node_id: int) -> V | KafkaError:
        """Return an item. Mark it if it is an error and the change may have been made. Later errors are also marked
        then.
        """
        if is_left_open(item, api):
            self._unconfirmed.left_open(node_id)
        return self._unconfirmed.mark(item, node_id) if isinstance(item, KafkaError) else item

    def name_of(self, node_id: int) -> str:
        return str(self.client.metadata.cluster.node(node_id) or self.client.network.node(node_id))

    def ready_broker(self, route: Route) -> int:
        found: list[int] = []
        began_at_ms, version = self.client.clock.now_ms(), self.client.metadata.version

        def find() -> bool:
            node_id = route(self.client)
            unresolved = self._unresolved_controller(route)
            if unresolved is not None and node_id is None:
                raise unresolved
            updates = self.client.metadata.version - version
            has_waited = self.client.clock.now_ms() >= began_at_ms + UNKNOWN_CONTROLLER_MS
            if has_waited and updates >= _UNKNOWN_CONTROLLER_UPDATES and self._is_controller_unknown(route):
                raise RemoteProtocolError(f"{self.what}: {self._waiting_for_broker(route)}", api="Metadata")
            found.extend([] if node_id is None or self._check_deadline() else [node_id])
            return bool(found)

        self.wait_until(find, lambda: self._waiting_for_broker(route))
        return found[0]

    def _unresolved_controller(self, route: Route) -> KafkaError | None:
        node = self.client.metadata.cluster.controller() if route is controller else None
        error = None if node is None else self.client.network.status.node_error(node.node_id)
        return error if isinstance(error, AdvertisedAddressError) and not error.retriable else None

    def _is_controller_unknown(self, route: Route) -> bool:
        cluster = self.client.metadata.cluster
        return route is controller and cluster.controller_id != NO_NODE and cluster.controller() is None

    def _waiting_for_broker(self, route: Route) -> str:
        cluster = self.client.metadata.cluster
        if self._is_controller_unknown(route):
            known = listed(sorted(cluster.nodes))
            return f"waiting for controller {cluster.controller_id}, which is not in the list of brokers ({known})"
        return "waiting for an available broker"

    def ask_once(
        self, node_id: int, build: Build, api: str, *, max_version: int | None = None, is_for_any: bool = False
    ) -> Answer:
        answers: list[Answer] = []
        self.send(node_id, build, answers.append, max_version=max_version, is_for_any=is_for_any)
        node = self.client.network.node(node_id)
        self.wait_until(lambda: bool(answers), f"waiting for the {api} response from {node}")
        return answers[0]

    def ask_nodes(
        self, builds: Mapping[int, Build], *, max_version: int | None = None, follow: Follow | None = None
    ) -> dict[int, Answer | KafkaError]:
        """Send requests to several brokers in parallel. Wait until all have responded or failed.

        If `follow` returns a builder, its request is sent to that broker. Brokers without a result at the deadline have
        the ApiTimeout as error.

        Raises: ApiTimeout: no broker has responded or failed by the deadline.
        """
        ended: dict[int, Answer | KafkaError] = {}
        if not builds:
            return ended
        unsent = dict(builds)
        known = self.client.metadata.version
        network = self.client.network
        before = {node_id: network.status.node_error(node_id) for node_id in builds}

        def keep(answer: Answer) -> None:
            further = None if answer.response is None or follow is None else follow(answer)
            if further is None:
                if answer.error is not None:
                    ended[answer.node_id] = self._unconfirmed.mark(answer.error, answer.node_id)
                else:
                    ended[answer.node_id] = answer
                    self._limit(has_results=True)
            else:
                unsent[answer.node_id] = further

        is_first_step = True

        def step() -> bool:
            nonlocal is_first_step
            connecting = () if is_first_step else network.status.connecting  # no news until the attempt ends
            is_first_step = False
            for node_id in list(filterfalse(connecting.__contains__, unsent)):
                if make_ready(self.client, node_id) and not self._check_deadline():
                    self.send(node_id, unsent.pop(node_id), keep, max_version=max_version)
                    continue
                error = self._node_error(node_id, known)
                if error is not None and error is not before[node_id]:
                    ended[node_id] = self._unconfirmed.mark(error, node_id)
                    del unsent[node_id]
            return len(ended) == len(builds)

        try:
            self.wait_until(step, lambda: f"waiting for {self._names(each for each in builds if each not in ended)}")
        except ApiTimeout as timeout:
            silent = tuple(each for each in builds if each not in ended)
            timeout.node_ids = silent
            is_told_apart = any(map(self._unconfirmed.has, silent)) and not all(map(self._unconfirmed.has, silent))
            if not ended and not is_told_apart:
                raise
            timeout.outcome_unknown = False
            ended |= {node_id: self._unconfirmed.mark(timeout, node_id) for node_id in silent}
        return ended

    def _node_error(self, node_id: int, known: int) -> KafkaError | None:
        metadata = self.client.metadata
        if metadata.cluster.node(node_id) is None and metadata.version > known:
            return ConnectionLost(f"broker {node_id} is not in the cluster")
        return self.client.network.status.node_error(node_id)

    def _check_deadline(self) -> bool:
        self.timer.update()
        return self.timer.is_expired

    def _limit(self, *, has_results: bool) -> None:
        self.timer.deadline_at_ms = self._partial_at_ms if has_results else self._deadline_at_ms

    def _names(self, node_ids: Iterable[int]) -> str:
        cluster = self.client.metadata.cluster
        return ", ".join(str(cluster.node(node_id) or f"broker {node_id}") for node_id in node_ids)

    def send(
        self,
        node_id: int,
        build: Build,
        on_done: Callable[[Answer], None],
        *,
        max_version: int | None = None,
        is_for_any: bool = False,
    ) -> None:
        """Send to a ready broker. The timeout is the rest of the call's time, at most request.timeout.ms.

        Responses that cannot be decoded fail the call.

        Args:
            is_for_any: whether the request may also be sent to other brokers if this one is silent.
        """
        self.timer.update()
        timeout_ms = min(self.timer.remaining_ms, self._request_timeout_ms)
        request = build(timeout_ms)
        is_change = self._unconfirmed.sent(node_id, request)
        self._forwarded = request.NAME if request.NAME in FORWARDED else ""

        def done(answer: Answer) -> None:
            if is_change:
                self._unconfirmed.ended(answer)
            if not isinstance(answer.error, RequestTimeout):
                self._forwarded = ""
            elif self._check_deadline():
                return  # the call reports its own timeout
            cause = None if answer.error is None else answer.error.__cause__
            if isinstance(cause, RemoteProtocolError) and cause.api == request.NAME:
                answer = answer._replace(error=cause)
            on_done(answer)

        with self.client.steps:
            self.client.send(Outgoing(node_id, request, timeout_ms, done, max_version, is_for_any))

    def pause(self, error: KafkaError) -> None:
        """Wait for the backoff, or raise an error that is not retried."""
        if not ADMIN.is_retried(error) or self._pause.failures >= self._retries:
            raise self._unconfirmed.mark(error)
        self._last_error = error
        self._pause.failed(self.client.clock.start_ms())
        pause = Timer.until(self.client.clock, min(self._pause.until_ms, self.timer.deadline_at_ms))
        with self.client.steps:
            while pause.not_expired:
                self.client.poll(pause.deadline_at_ms)
                pause.update()
        self.timer.update()  # errors without a request have not updated the timer
        self.wait_until(lambda: not self.timer.is_expired, "waiting to retry")

    def each(
        self,
        keys: Iterable[K],
        attempt: Callable[[list[K]], Mapping[K, V | KafkaError]],
        is_retried: Callable[[KafkaError, int], bool],
    ) -> Results[K, V]:
        """Return the outcome of each item, with retries.

        At the deadline, items without a result fail with ApiTimeout. If a change may have been made, pending items fail
        with the error of the change.

        Args:
            is_retried: function of an error and the number of attempts.

        Raises: ApiTimeout: no item has a result, and no change was sent.
        """
        pending = list(dict.fromkeys(keys))
        tries = 0
        done: dict[K, V] = {}
        failed: dict[K, KafkaError] = {}
        while pending:
            again: dict[K, KafkaError] = {}
            late: dict[K, KafkaError] = {}
            try:
                answers = attempt(pending)
                tries += 1
                for key in pending:
                    answer = answers[key]
                    if not isinstance(answer, KafkaError):
                        done[key] = answer
                    elif isinstance(answer, ApiTimeout):
                        late[key] = answer
                    elif self._pause.failures < self._retries and is_retried(answer, tries):
                        again[key] = answer
                    else:
                        failed[key] = answer
                self._limit(has_results=bool(done or failed))
                if self.timer.is_expired:
                    failed |= late
                    late = {}
                pending = [*again, *late]
                if again:
                    self.pause(next(iter(again.values())))
            except KafkaError as error:
                is_late = isinstance(error, ApiTimeout)
                has_answers = bool(done) or not all(isinstance(each, ApiTimeout) for each in failed.values())
                if not error.outcome_unknown and not (is_late and has_answers):
                    raise
                failed.update(dict.fromkeys(pending, error))
                break
        return Results(done, failed)
