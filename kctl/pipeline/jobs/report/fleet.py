"""Fleet: all that is kept of any number of files: counts and spreads by place and node, and what could not be read.

Bounded whatever is read: nodes above `MOST_NODES` are counted as one, names and samples of lines are few. Two fleets
make one (`add`), in any order and with the same outcome but for which samples are kept. It pickles, for Spark.
Knows no file format. Shown by tests/unit/pipeline/report/test_folding.py.
"""

from typing import NamedTuple

from kctl.pipeline.jobs.report.spread import Spread

MOST_NODES = 4000
MOST_NAMES = 100
"""Of errors, APIs and addresses of one node; the rest is counted together."""
MOST_RUNS = 200
MOST_SAMPLES = 20
OTHERS = "(others)"

PHASES = ("dns", "tcp", "tls", "apiversions", "sasl", "metadata")
SETUP_PHASES = PHASES[:-1]
"""What --connect-timeout covers."""


class NodeKey(NamedTuple):
    """A node as one place sees it; `node` is host:port as it was given or advertised."""

    place: str
    node: str


class BadLine(NamedTuple):
    """A line that could not be used; line 0 is the file itself."""

    file: str
    line: int
    why: str


class Run(NamedTuple):
    """A time in which one file tells of a node without a gap; instants since the epoch."""

    first_ms: int
    first_ok: bool
    last_ms: int
    last_ok: bool


class Certificate(NamedTuple):
    """The certificate of a chain that ends first."""

    seen_at_ms: int
    not_after_ms: int
    subject: str
    issuer: str


class AddressCounts(NamedTuple):
    """How attempts at one address ended."""

    ready: int = 0
    expired: int = 0
    failed: int = 0


class NodeRecord:
    """What is known of a node at a place.

    Attributes:
        setup: from the look-up until requests can be sent; `phases` and `requests` (by API) likewise.
        ready, expired, failed: attempts by their end; `dropped` ones were given up by ourselves: a race was lost, or
            the whole call was over.
        lost: connections that ended after they had been ready.
        requests_expired: requests without an answer in their limit.
        shortest_limit_ms, longest_limit_ms: the connect limits that were in force.
        looks: how often the node was seen to work or not, in files that tell when; `changes` from one to the other.
        runs: the times that were looked at; a change from the end of one to the start of the next is not in `changes`.
    """

    __slots__ = (
        "addresses",
        "certificate",
        "changes",
        "dropped",
        "errors",
        "expired",
        "expired_in",
        "failed",
        "longest_limit_ms",
        "looks",
        "lost",
        "phases",
        "ready",
        "requests",
        "requests_expired",
        "runs",
        "setup",
        "shortest_limit_ms",
    )

    def __init__(self) -> None:
        self.setup = Spread()
        self.phases: dict[str, Spread] = {}
        self.requests: dict[str, Spread] = {}
        self.ready = self.expired = self.failed = self.dropped = self.lost = self.requests_expired = 0
        self.expired_in: dict[str, int] = {}
        self.errors: dict[str, int] = {}
        self.addresses: dict[str, AddressCounts] = {}
        self.shortest_limit_ms: int | None = None
        self.longest_limit_ms: int | None = None
        self.looks = self.changes = 0
        self.runs: list[Run] = []
        self.certificate: Certificate | None = None

    @property
    def attempts(self) -> int:
        """Attempts that came to an end of their own."""
        return self.ready + self.expired + self.failed

    def phase(self, name: str) -> Spread:
        return self.phases.setdefault(name, Spread())

    def request(self, api: str) -> Spread:
        return self.requests.setdefault(
            api if api in self.requests or len(self.requests) < MOST_NAMES else OTHERS, Spread()
        )

    def note_limit(self, limit_ms: int) -> None:
        """Take note of a connect limit that was in force."""
        self.shortest_limit_ms = limit_ms if self.shortest_limit_ms is None else min(limit_ms, self.shortest_limit_ms)
        self.longest_limit_ms = limit_ms if self.longest_limit_ms is None else max(limit_ms, self.longest_limit_ms)

    def note_certificate(self, found: Certificate) -> None:
        """Keep what was seen last; seen at once, what ends first."""
        known = self.certificate
        if known is None or (found.seen_at_ms, -found.not_after_ms, found.subject) > (
            known.seen_at_ms,
            -known.not_after_ms,
            known.subject,
        ):
            self.certificate = found

    def count_address(self, address: str, *, ready: int = 0, expired: int = 0, failed: int = 0) -> None:
        name = address if address in self.addresses or len(self.addresses) < MOST_NAMES else OTHERS
        known = self.addresses.get(name, AddressCounts())
        self.addresses[name] = AddressCounts(known.ready + ready, known.expired + expired, known.failed + failed)

    def note_run(self, run: Run) -> None:
        """Take a run; of too many, neighbours in time are made one, and the change between them is counted."""
        self.runs.append(run)
        if len(self.runs) > MOST_RUNS:
            self.runs, changes = join_runs(self.runs, down_to=MOST_RUNS // 2)
            self.changes += changes

    def add(self, other: "NodeRecord") -> None:
        """Take in what another record knows of the same node."""
        self.setup.add(other.setup)
        for name, spread in other.phases.items():
            self.phase(name).add(spread)
        for api, spread in other.requests.items():
            self.request(api).add(spread)
        for attribute in ("ready", "expired", "failed", "dropped", "lost", "requests_expired", "looks", "changes"):
            setattr(self, attribute, getattr(self, attribute) + getattr(other, attribute))
        count_all(self.expired_in, other.expired_in)
        count_all(self.errors, other.errors)
        for address, counts in other.addresses.items():
            self.count_address(address, **counts._asdict())
        for limit_ms in (other.shortest_limit_ms, other.longest_limit_ms):
            if limit_ms is not None:
                self.note_limit(limit_ms)
        for run in other.runs:
            self.note_run(run)
        if other.certificate is not None:
            self.note_certificate(other.certificate)


class PlaceRecord:
    """What is known of a place beside its nodes; instants since the epoch, of whatever tells one."""

    __slots__ = ("files", "first_ms", "last_ms", "rounds", "traces")

    def __init__(self) -> None:
        self.files = self.rounds = self.traces = 0
        self.first_ms: int | None = None
        self.last_ms: int | None = None

    def note_time(self, at_ms: int) -> None:
        self.first_ms = at_ms if self.first_ms is None else min(at_ms, self.first_ms)
        self.last_ms = at_ms if self.last_ms is None else max(at_ms, self.last_ms)

    def add(self, other: "PlaceRecord") -> None:
        self.files += other.files
        self.rounds += other.rounds
        self.traces += other.traces
        for at_ms in (other.first_ms, other.last_ms):
            if at_ms is not None:
                self.note_time(at_ms)


class Fleet:
    """Everything that was read."""

    def __init__(self) -> None:
        self.places: dict[str, PlaceRecord] = {}
        self.nodes: dict[NodeKey, NodeRecord] = {}
        self.lines = 0
        self.bad_lines = 0
        self.bad_samples: list[BadLine] = []
        self.unfinished_files = 0
        """Files that were cut off: a trace without an end, or a round without its summary."""
        self.unknown: dict[str, int] = {}
        """Events of other kinds or versions, skipped."""

    def place(self, name: str) -> PlaceRecord:
        if name not in self.places and len(self.places) >= MOST_NODES:
            name = OTHERS
        return self.places.setdefault(name, PlaceRecord())

    def node(self, place: str, node: str) -> NodeRecord:
        key = NodeKey(place, node)
        if key not in self.nodes and len(self.nodes) >= MOST_NODES:
            key = NodeKey(OTHERS, OTHERS)
        return self.nodes.setdefault(key, NodeRecord())

    def note_bad(self, bad: BadLine) -> None:
        """Count a line that could not be used; the first few are kept."""
        self.bad_lines += 1
        if len(self.bad_samples) < MOST_SAMPLES:
            self.bad_samples.append(bad)

    def add(self, other: "Fleet") -> None:
        """Take in another fleet."""
        for name, place in other.places.items():
            self.place(name).add(place)
        for key, node in other.nodes.items():
            self.node(*key).add(node)
        self.lines += other.lines
        self.bad_lines += other.bad_lines
        self.bad_samples = sorted([*self.bad_samples, *other.bad_samples])[:MOST_SAMPLES]
        self.unfinished_files += other.unfinished_files
        count_all(self.unknown, other.unknown)


def count_all(counts: dict[str, int], more: dict[str, int]) -> None:
    """Add counts by name, to a bounded number of names."""
    for name, count in more.items():
        known = name if name in counts or len(counts) < MOST_NAMES else OTHERS
        counts[known] = counts.get(known, 0) + count


def join_runs(runs: list[Run], *, down_to: int = 1) -> tuple[list[Run], int]:
    """Return fewer runs, and how often the state changed from one to the next that is part of them now.

    Neighbours in time are joined, the nearest to each other in order of time, until there are few enough. Runs that
    overlap are of two observers, and stay apart.
    """
    joined: list[Run] = []
    changes = 0
    to_spare = len(runs) - down_to
    for run in sorted(runs):
        last = joined[-1] if joined else None
        if last is not None and to_spare > 0 and last.last_ms <= run.first_ms:
            changes += last.last_ok != run.first_ok
            joined[-1] = Run(last.first_ms, last.first_ok, run.last_ms, run.last_ok)
            to_spare -= 1
        else:
            joined.append(run)
    return joined, changes
