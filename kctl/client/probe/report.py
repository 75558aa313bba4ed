"""Results of a probe: one `AddressReport` for each address, filled in while the round runs."""

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
    """How long a connection was idle, and the result: `error` is None when it still worked."""

    idle_ms: int
    error: KafkaError | None


class TlsReport(NamedTuple):
    """What was agreed and presented in TLS.

    Attributes:
        chain: the certificates, leaf first; there also when they were refused.
        is_client_certificate_asked: None where it could not be seen.
        asked_for: the name that the certificate has to be for.
    """

    version: str
    cipher: str
    chain: tuple[PeerCertificate, ...]
    is_client_certificate_asked: bool | None = None
    asked_for: str = ""


def tls_report(channel: "TlsChannel | None") -> TlsReport | None:
    """Return what a channel shows by now; None without TLS or before the peer presented anything."""
    if channel is None:
        return None
    chain = channel.peer_chain()
    if not chain and not channel.version:
        return None
    return TlsReport(channel.version, channel.cipher, chain, channel.is_certificate_asked, channel.host)


class ClusterView(NamedTuple):
    """The cluster as one node describes it.

    Attributes:
        controller_id: the leader of the quorum of controllers; of a cluster with ZooKeeper its controller. NO_NODE: the
            node knows none; None: it has not reported it.
        brokers, fenced: those that take part, and those of which the controller hears no heartbeats.
    """

    cluster_id: str | None
    controller_id: int | None
    brokers: tuple[Node, ...]
    fenced: tuple[Node, ...] = ()

    @property
    def has_controller(self) -> bool:
        """Whether the active controller is known."""
        return self.controller_id not in (None, NO_NODE)


class AddressReport:
    """One address of one node, filled in while the round runs; a reader sees what is known so far.

    Attributes:
        target: node, name and address.
        advertised: whether it was found in metadata rather than given.
        phases_ms: each phase that was passed with its milliseconds.
        phase, limit_ms: where it is now, and the connect limit; METADATA until that was answered, then READY.
        error: why it ended, if it failed.
        is_done: ready and asked all there is to ask, or failed.
        answers_as: the node id under which it answers, where it could be found out.
        idle: what became of the connection in the test of idleness, where one was wanted.
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
        """How often the address was dialled; more than once only where failed addresses are dialled again."""
        self.works_with = ""
        """The security protocol with which a second attempt succeeded, where the configured one did not."""

    @property
    def is_ready(self) -> bool:
        """Whether it can be used: the connection got through the handshake, and Metadata was answered."""
        return self.error is None and self.phase is Phase.READY

    @property
    def reason(self) -> str:
        """Why it failed, without the node and the phase, which stand beside it; empty when it did not."""
        if self.error is None:
            return ""
        words = str(self.error).removeprefix(f"{self.target}: ")
        return words.removesuffix(f" [phase {getattr(self.error, 'phase', '')}]")

    @property
    def broker(self) -> Node | None:
        """The broker that answers here, as it is advertised; None where it is not known."""
        brokers = self.view.brokers if self.view is not None else ()
        return next((broker for broker in brokers if broker.node_id == self.answers_as), None)


def reports_of_addresses(reports: list[AddressReport], found: AddressReport, addresses: int) -> list[AddressReport]:
    """Return a report for each address of a name: the report of its lookup, and further ones, added behind it."""
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
    """The replicas of all partitions that this client may describe.

    Attributes:
        partitions: how many partitions there are.
        leads, has: how many of them each broker leads, and has a replica of.
        under_replicated: partitions with replicas that are not in sync.
    """

    partitions: int
    leads: Mapping[int, int]
    has: Mapping[int, int]
    under_replicated: tuple[TopicPartition, ...]


class CoordinatorReport(NamedTuple):
    """The coordinator of a group, as the cluster reports it; neither `node` nor `error` without a response.

    `partition` of __consumer_offsets holds the group, `leader_id` leads it; None where they could not be found out.
    """

    group_id: str
    node: Node | None
    error: KafkaError | None
    partition: int | None = None
    leader_id: int | None = None
