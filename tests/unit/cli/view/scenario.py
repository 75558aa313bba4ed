"""One probe that has everything in it: ready, under way, refused, expired, unresolvable, hostile. For the views."""

from kctl.cli.view.probe_state import ProbeState, fold, phases_of
from kctl.client.errors import ConnectionRefused, ConnectTimeout, DnsError, WrongPeerError
from kctl.client.events import Event, Expired, Failed, Phase, PhaseDone, Ready, Started, Target

PLAN = phases_of(uses_tls=True, uses_sasl=False)
START_MS = 5000
NOW_MS = START_MS + 2100

GOOD = Target(1, -1, "kafka-a.example", 9092, "")
GOOD_V4 = Target(1, -1, "kafka-a.example", 9092, "10.0.0.1:9092")
GOOD_V6 = Target(1, -1, "kafka-a.example", 9092, "[fd00::1]:9092")
REFUSED = Target(2, -2, "10.0.0.2", 9092, "10.0.0.2:9092")
SILENT = Target(3, -3, "kafka-c.example", 9092, "10.0.0.3:9092")
UNKNOWN = Target(4, -4, "no-such.example", 9092, "")
HOSTILE = Target(5, -5, "10.0.0.5", 22, "10.0.0.5:22")


def _at(ms: int) -> int:
    return START_MS + ms


def _failed(target: Target, phase: Phase, ms: int, error: ConnectionRefused | DnsError | WrongPeerError) -> Failed:
    error.args = (f"{target}: {error} [phase {phase.value}]",)
    return Failed(_at(ms), target, phase, ms, error)


EVENTS: tuple[Event, ...] = (
    *(Started(_at(0), target._replace(address=""), Phase.DNS, 2000) for target in (GOOD, REFUSED, SILENT, UNKNOWN)),
    PhaseDone(_at(4), GOOD, Phase.DNS, 4, "10.0.0.1:9092, [fd00::1]:9092"),
    Started(_at(4), GOOD_V4, Phase.TCP, 1996),
    PhaseDone(_at(5), REFUSED._replace(address=""), Phase.DNS, 0, "10.0.0.2:9092"),
    Started(_at(5), REFUSED, Phase.TCP, 1995),
    _failed(
        REFUSED, Phase.TCP, 6, ConnectionRefused("connection refused (RST after 1 ms)", hint="nothing listens there")
    ),
    PhaseDone(_at(7), GOOD_V4, Phase.TCP, 3, "10.0.0.9:40000"),
    PhaseDone(_at(8), SILENT._replace(address=""), Phase.DNS, 8, "10.0.0.3:9092"),
    Started(_at(8), SILENT, Phase.TCP, 1992),
    _failed(UNKNOWN, Phase.DNS, 30, DnsError("name not known")),
    PhaseDone(_at(41), GOOD_V4, Phase.TLS, 34, "TLSv1.3"),
    PhaseDone(_at(43), GOOD_V4, Phase.APIVERSIONS, 2, "72 APIs"),
    Ready(_at(43), GOOD_V4, 39),
    Started(_at(104), GOOD_V6, Phase.TCP, 1996),
    PhaseDone(_at(110), GOOD_V6, Phase.TCP, 6, ""),
    Started(_at(0), HOSTILE, Phase.TCP, 2000),
    PhaseDone(_at(1), HOSTILE, Phase.TCP, 1, ""),
    _failed(HOSTILE, Phase.TLS, 2, WrongPeerError("the peer says \x1b[31mSSH\x07")),
    Expired(
        _at(2000),
        SILENT,
        Phase.TCP,
        1992,
        1992,
        ConnectTimeout("no SYN-ACK in 1992 ms of 1992 ms (--connect-timeout)", limit_ms=1992, elapsed_ms=1992),
    ),
)


def folded() -> ProbeState:
    """Return the state after all of it."""
    state = ProbeState(PLAN)
    for event in EVENTS:
        state = fold(state, event)
    return state
