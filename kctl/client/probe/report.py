"""What a probe learns, as values: one `AddressReport` for each address, one `ProbeReport` for the round."""

from typing import TYPE_CHECKING, NamedTuple

from kctl.client.cluster import Node
from kctl.client.errors import KafkaError
from kctl.client.events import Phase, Target
from kctl.client.protocol.schema import Versions
from kctl.client.security.tls.certificates import PeerCertificate

if TYPE_CHECKING:
    from kctl.client.security.tls import TlsChannel


class TlsReport(NamedTuple):
    """What was agreed and presented in TLS; `chain` is there also when it was refused, leaf first."""

    version: str
    cipher: str
    chain: tuple[PeerCertificate, ...]


def tls_report(channel: "TlsChannel | None") -> TlsReport | None:
    """Return what a channel shows by now; None without TLS or before the peer presented anything."""
    if channel is None:
        return None
    chain = channel.peer_chain()
    return TlsReport(channel.version, channel.cipher, chain) if chain or channel.version else None


class ClusterView(NamedTuple):
    """The cluster as one node describes it."""

    cluster_id: str | None
    controller_id: int
    brokers: tuple[Node, ...]


class AddressReport:
    """One address of one node, filled in as the round goes on; who reads it while it runs sees what is known so far.

    Attributes:
        target: node, name and address.
        advertised: whether it was found in metadata rather than given.
        phases_ms: each phase that was passed with its milliseconds.
        phase, limit_ms: where it is now, and the connect limit.
        error: why it ended, if it failed.
        is_done: ready and asked all there is to ask, or failed.
        answers_as: the node id under which it answers, where it could be found out.
    """

    __slots__ = (
        "advertised",
        "answers_as",
        "elapsed_ms",
        "error",
        "features",
        "is_done",
        "limit_ms",
        "metadata_ms",
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
        self.metadata_ms: int | None = None
        self.answers_as: int | None = None
        self.works_with = ""
        """The security protocol with which a second attempt succeeded, where the configured one did not."""

    @property
    def is_ready(self) -> bool:
        """Whether the connection got through the handshake."""
        return self.error is None and self.phase is Phase.READY


class CoordinatorReport(NamedTuple):
    """What FindCoordinator says of a group."""

    group_id: str
    node: Node | None
    error: KafkaError | None
