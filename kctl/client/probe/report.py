"""Results of a probe: an `AddressReport` for each address, filled in while the probe runs."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, NamedTuple

from kctl.client.cluster import NO_NODE, Node, TopicPartition
from kctl.client.errors import KafkaError
from kctl.client.events import Phase, Target
from kctl.client.protocol.schema import Versions
from kctl.client.security.tls.certificates import PeerCertificate

if TYPE_CHECKING:
    from kctl.client.security.tls import TlsChannel


class IdleReport(NamedTuple):
    idle_ms: int
    error: KafkaError | None


class TlsReport(NamedTuple):
    """Result of TLS.

    Attributes:
        chain: certificates, leaf first, even if rejected.
        is_client_certificate_asked: whether the server requests a client certificate; None if unknown.
        asked_for: host name that the certificate must have.
    """

    version: str
    cipher: str
    chain: tuple[PeerCertificate, ...]
    is_client_certificate_asked: bool | None = None
    asked_for: str = ""


def tls_report(channel: "TlsChannel | None") -> TlsReport | None:
    if channel is None:
        return None
    chain = channel.peer_chain()
    if not chain and not channel.version:
        return None
    return TlsReport(channel.version, channel.cipher, chain, channel.is_certificate_asked, channel.host)


class ClusterView(NamedTuple):
    """The cluster as one broker describes it.

    Attributes:
        controller_id: leader of the KRaft controllers, or the controller of a cluster with ZooKeeper. NO_NODE if there
            is none or until the controllers respond; None if not reported.
        brokers: active brokers.
        fenced: registered brokers without heartbeats.
    """

    cluster_id: str | None
    controller_id: int | None
    brokers: tuple[Node, ...]
    fenced: tuple[Node, ...] = ()

    @property
    def has_controller(self) -> bool:
        return self.controller_id not in (None, NO_NODE)


class AddressReport:
    """An address of a server; it always shows the current state.

    Attributes:
        advertised: whether it was found in metadata, not given.
        phases_ms: duration of each completed phase.
        phase: current phase; METADATA until the response to Metadata, then READY.
        limit_ms: connect timeout.
        error: cause of the failure, if any.
        is_done: whether the last response has arrived or the address has failed.
        answers_as: id of the responding broker, if known.
        idle: result of the idle test, if any.
    """

    __slots__ = (
        "advertised",
        "answers_as",
        "attempts",
        "elapsed_ms",
        "error",
        "features",
        "idle",
        "is_done",
        "limit_ms",
        "phase",
        "phases_ms",
        "sasl_mechanisms",
        "started_at_ms",
        "target",
        "tls",
        "versions",
        "view",
        "works_with",
    )

    def __init__(self, target: Target, *, advertised: bool, started_at_ms: int, limit_ms: int) -> None:
        self.target = target
        self.advertised = advertised
        self.started_at_ms = started_at_ms
        self.limit_ms = limit_ms
        self.phase = Phase.DNS
        self.phases_ms: dict[Phase, int] = {}
        self.elapsed_ms = 0
        self.error: KafkaError | None = None
        self.is_done = False
        self.tls: TlsReport | None = None
        self.sasl_mechanisms: tuple[str, ...] = ()
        self.versions: dict[int, Versions] = {}
        self.features: dict[str, int] = {}
        self.view: ClusterView | None = None
        self.idle: IdleReport | None = None
        self.answers_as: int | None = None
        self.attempts = 1
        """Number of attempts to connect to the address."""
        self.works_with = ""
        """Security protocol with which a second attempt succeeded."""

    @property
    def is_ready(self) -> bool:
        """Whether the handshake and the Metadata request succeeded."""
        return self.error is None and self.phase is Phase.READY

    @property
    def reason(self) -> str:
        """Reason of the failure, without server and phase."""
        if self.error is None:
            return ""
        words = str(self.error).removeprefix(f"{self.target}: ")
        return words.removesuffix(f" [phase {getattr(self.error, 'phase', '')}]")

    @property
    def broker(self) -> Node | None:
        """The responding broker with its advertised address; None if unknown."""
        brokers = self.view.brokers if self.view is not None else ()
        return next((broker for broker in brokers if broker.node_id == self.answers_as), None)


def reports_of_addresses(reports: list[AddressReport], found: AddressReport, addresses: int) -> list[AddressReport]:
    """Return one report per address: the report of the DNS query, and new reports, which are inserted after it."""
    more = [
        AddressReport(
            found.target, advertised=found.advertised, started_at_ms=found.started_at_ms, limit_ms=found.limit_ms
        )
        for _ in range(addresses - 1)
    ]
    for report in more:
        report.phases_ms.update(found.phases_ms)
    if more:
        behind = reports.index(found) + 1
        reports[behind:behind] = more
    return [found, *more]


class ReplicaReport(NamedTuple):
    """Replicas of all partitions that this client may describe.

    Attributes:
        leads, has: by broker id, the number of partitions that it leads, and of which it has a replica.
        under_replicated: partitions with replicas that are not in sync.
    """

    partitions: int
    leads: Mapping[int, int]
    has: Mapping[int, int]
    under_replicated: tuple[TopicPartition, ...]


class CoordinatorReport(NamedTuple):
    """Coordinator of a group; without a response, it has neither `node` nor `error`.

    Attributes:
        partition: partition of __consumer_offsets for the group; None if unknown.
        leader_id: leader of this partition; None if unknown.
    """

    group_id: str
    node: Node | None
    error: KafkaError | None
    partition: int | None = None
    leader_id: int | None = None
