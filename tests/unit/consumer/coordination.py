"""A coordinator that is there, and answers when the test says so; the network side of a group without a network."""

from kctl.client.broker_errors import broker_error
from kctl.client.errors import KafkaError
from kctl.client.network.in_flight import OnDone, Outgoing
from kctl.client.protocol.schema import Request
from kctl.client.requests.coordinator import HELD, PROMPT


class ReadyCoordinator:
    """Fits `Coordinator` by shape."""

    key = "g"
    name = "host1:9092 (id 1)"
    owner = "group g"
    waiting_for = "waiting for the coordinator of group g"
    is_recheck_pending = False

    def __init__(self) -> None:
        self.is_ready = True
        self.newest = 10
        """The newest version that it speaks, of anything."""
        self.lost_with: list[KafkaError] = []
        self.error: KafkaError | None = None
        self.refusal: KafkaError | None = None

    @property
    def known_error(self) -> KafkaError | None:
        return self.error

    def ready(self, connection: int) -> bool:
        assert connection in (PROMPT, HELD)
        return self.is_ready

    def speaks(self, connection: int, kind: type[Request], at_least: int) -> bool:
        return self.newest >= at_least

    def outgoing(
        self, connection: int, request: Request, timeout_ms: int, on_done: OnDone, max_version: int | None = None
    ) -> Outgoing:
        return Outgoing(connection, request, timeout_ms, on_done, max_version)

    def lost(self, error: KafkaError) -> None:
        self.lost_with.append(error)

    def waiting_to(self, action: str) -> str:
        return f"{self.waiting_for} to {action}"

    def last_error(self) -> KafkaError | None:
        return self.error

    def check(self, code: int, what: str) -> KafkaError | None:
        return broker_error(code, what) if code else None
