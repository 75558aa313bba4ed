"""One probe that has everything in it: ready, under way, refused, expired, unresolvable, hostile. For the views."""

from kctl.cli.exit_codes import ExitCode
from kctl.cli.probe.view.frame import Scene
from kctl.cli.probe.view.result import ProbeResult
from kctl.client.broker_errors import broker_error
from kctl.client.cluster import Node
from kctl.client.errors import (
    ConnectionLost,
    ConnectionRefused,
    ConnectTimeout,
    DnsError,
    KafkaError,
    RequestTimeout,
    TransportError,
    WrongPeerError,
)
from kctl.client.events import Event, Expired, Failed, Lost, Phase, PhaseDone, Ready, Started, Target
from kctl.client.probe.findings import ProbeFinding, Severity, diagnose
from kctl.client.probe.prober import NextLimit
from kctl.client.probe.report import AddressReport, ClusterView, CoordinatorReport, IdleReport, TlsReport
from kctl.client.security.tls.certificates import PeerCertificate

START_MS = 5000
NOW_MS = START_MS + 1800
WALL_MS = 1_700_000_000_000
LIMIT_MS = 2000

BROKERS = (Node(1, "kafka-a.example", 9092), Node(2, "10.0.0.6", 9092, "rack-b"))
LEAF = PeerCertificate(
    "CN=kafka-a.example", "CN=test-ca", 0, WALL_MS + 864_000_000, "1970-01-01", "2023-11-24", ("kafka-a.example",)
)
TLS = TlsReport("TLSv1.3", "TLS_AES_256_GCM_SHA384", (LEAF,), True, "kafka-a.example")
NAME = Target(1, -1, "kafka-a.example", 9092, "")
GOOD = Target(2, -1, "kafka-a.example", 9092, "10.0.0.1:9092")


def located(error: TransportError, target: Target, phase: Phase) -> TransportError:
    error.args = (f"{target}: {error} [phase {phase.value}]",)
    error.phase = phase.value
    return error


def report(
    target: Target,
    phases_ms: dict[Phase, int],
    phase: Phase,
    error: KafkaError | None = None,
    elapsed_ms: int = 0,
    *,
    advertised: bool = False,
    started_at_ms: int = START_MS,
) -> AddressReport:
    """Return a report that is done when it is ready or failed."""
    made = AddressReport(target, advertised=advertised, started_at_ms=started_at_ms, limit_ms=LIMIT_MS)
    made.phases_ms = phases_ms
    made.phase, made.error, made.elapsed_ms = phase, error, elapsed_ms
    made.is_done = error is not None or phase is Phase.READY
    return made


def ready(target: Target, answers_as: int, *, advertised: bool = False, tls_ms: int = 340) -> AddressReport:
    phases_ms = {Phase.DNS: 40, Phase.TCP: 120, Phase.TLS: tls_ms, Phase.APIVERSIONS: 80, Phase.METADATA: 160}
    made = report(target, phases_ms, Phase.READY, advertised=advertised, elapsed_ms=sum(phases_ms.values()) + 3)
    made.view, made.answers_as, made.tls = ClusterView("abc", 2, BROKERS), answers_as, TLS
    made.versions, made.features = {0: (3, 12), 3: (0, 13)}, {"metadata.version": 25}
    made.sasl_mechanisms = ("PLAIN", "SCRAM-SHA-256")
    return made


def reports() -> list[AddressReport]:
    """Return everything that can be, as it stands at NOW_MS."""
    refused = Target(3, -2, "10.0.0.2", 9092, "10.0.0.2:9092")
    silent = Target(4, -3, "kafka-c.example", 9092, "10.0.0.3:9092")
    unknown = Target(5, -4, "no-such.example", 9092, "")
    hostile = Target(6, -5, "10.0.0.5", 22, "10.0.0.5:22")
    slow = Target(7, 2, "10.0.0.6", 9092, "10.0.0.6:9092")
    blackhole = Target(8, -6, "[fd00::1]", 9092, "[fd00::1]:9092")
    alias = Target(9, -7, "kafka-bootstrap.example", 9092, "10.0.0.1:9092")
    wrong = located(WrongPeerError("the peer says \x1b[31mSSH\x07"), hostile, Phase.TLS)
    other = report(hostile, {Phase.DNS: 0, Phase.TCP: 1}, Phase.TLS, wrong, 2)
    other.works_with = "PLAINTEXT"
    idled = ready(alias, 1, tls_ms=900)
    idled.idle = IdleReport(371_000, ConnectionLost("the server closed the connection"))
    expired = ConnectTimeout("no SYN-ACK within 2s (--connect-timeout)", limit_ms=2000, elapsed_ms=2000)
    refusal = ConnectionRefused("connection refused (RST after 1 ms)", hint="nothing listens there")
    return [
        ready(GOOD, 1),
        report(refused, {Phase.DNS: 5}, Phase.TCP, located(refusal, refused, Phase.TCP), 6),
        report(silent, {Phase.DNS: 300, Phase.TCP: 400, Phase.TLS: 700}, Phase.APIVERSIONS),
        report(unknown, {}, Phase.DNS, located(DnsError("name not known"), unknown, Phase.DNS), 30),
        other,
        report(blackhole, {Phase.DNS: 0}, Phase.TCP, located(expired, blackhole, Phase.TCP), 2000),
        idled,
        report(slow, {Phase.DNS: 10, Phase.TCP: 20}, Phase.TLS, advertised=True, started_at_ms=START_MS + 700),
    ]


def scene() -> Scene:
    """Return it as the live view gets it."""
    return Scene(
        reports(),
        NOW_MS,
        60_000,
        58_200,
        NextLimit(START_MS + LIMIT_MS, "--connect-timeout", Target(4, -3, "kafka-c.example", 9092, "10.0.0.3:9092")),
        ("     6 ms  10.0.0.2:9092  failed in tcp after 6 ms: connection refused", "  1742 ms  \x1b[2Ja hostile line"),
    )


def result(number: int = 1, code: ExitCode = ExitCode.OK) -> ProbeResult:
    """Return it as a round that ended."""
    coordinator = CoordinatorReport("g", None, broker_error(15, "find the coordinator of group g"), 23, -1)
    all_reports = reports()
    findings = diagnose(all_reports, coordinator, wall_ms=WALL_MS)
    return ProbeResult(number, START_MS, 1800, WALL_MS, all_reports, coordinator, tuple(findings), code)


REFUSED = Target(3, -2, "10.0.0.2", 9092, "10.0.0.2:9092")
EVENTS: tuple[Event, ...] = (
    Started(START_MS, NAME, Phase.DNS, LIMIT_MS),
    PhaseDone(START_MS + 4, NAME, Phase.DNS, 4, "10.0.0.1:9092"),
    Started(START_MS + 4, GOOD, Phase.TCP, LIMIT_MS),
    PhaseDone(START_MS + 7, GOOD, Phase.TCP, 3, "10.0.0.9:40000"),
    Failed(
        START_MS + 8,
        REFUSED,
        Phase.TCP,
        6,
        located(ConnectionRefused("connection refused \x1b[31m"), REFUSED, Phase.TCP),
    ),
    Ready(START_MS + 43, GOOD, 39),
    Expired(
        START_MS + 2000,
        REFUSED,
        Phase.TCP,
        LIMIT_MS,
        1992,
        ConnectTimeout("no SYN-ACK", limit_ms=2000, elapsed_ms=2000),
    ),
    Lost(START_MS + 9000, GOOD, RequestTimeout("waiting", timeout_ms=3000, elapsed_ms=3000)),
)
"""One of each kind that is told."""
NOTE = ProbeFinding("version-skew", Severity.NOTE, "", "Metadata: 0 to 13 at a", "an upgrade is under way")
