"""The values of a report, as `--output json` has them: docs/schemas/report.v1.json. Built from a Fleet by `summary.py`.

Within a version fields are added, never renamed or removed. Shown by tests/unit/pipeline/report/test_page.py.
"""

from typing import Any, NamedTuple

from kctl.pipeline.jobs.report.fleet import AddressCounts, BadLine
from kctl.pipeline.jobs.report.limits import Limits, Wanted

SCHEMA_VERSION = 1
QUANTILES = (0.5, 0.9, 0.99, 0.999)


class Latency(NamedTuple):
    """How long something takes; None where what was cut off hides it. `samples` ended, `cuts` were given up."""

    samples: int
    cuts: int
    p50_ms: int | None
    p90_ms: int | None
    p99_ms: int | None
    p999_ms: int | None
    slowest_ms: int | None


class CertificateReport(NamedTuple):
    """The certificate of a chain that ends first."""

    subject: str
    issuer: str
    not_after_ms: int
    days_left: float
    seen_at_ms: int


class NodeReport(NamedTuple):
    """A node as one place sees it.

    Attributes:
        expiry_rate: expired attempts of those that came to an end; None without any.
        looks: how often it was seen to work or not; `changes` from one to the other; is_flapping: they are many.
        setup: until requests can be sent; `phases` and `requests` (by API) likewise.
        connect_limits_ms: shortest and longest that were in force.
    """

    node: str
    attempts: int
    ready: int
    expired: int
    failed: int
    dropped: int
    lost: int
    requests_expired: int
    expiry_rate: float | None
    expired_in: dict[str, int]
    errors: dict[str, int]
    addresses: dict[str, AddressCounts]
    looks: int
    changes: int
    is_flapping: bool
    setup: Latency
    phases: dict[str, Latency]
    requests: dict[str, Latency]
    connect_limits_ms: tuple[int, int] | None
    certificate: CertificateReport | None


class CurvePoint(NamedTuple):
    """Within `ms` this share was ready."""

    ms: int
    share: float


class PlaceReport(NamedTuple):
    """A place: what its nodes are like together, and which limits it should use.

    Attributes: curve: of setup, thinned out for drawing.
    """

    place: str
    files: int
    rounds: int
    traces: int
    first_ms: int | None
    last_ms: int | None
    attempts: int
    expired: int
    expiry_rate: float | None
    setup: Latency
    phases: dict[str, Latency]
    request: Latency
    limits: Limits
    curve: list[CurvePoint]
    nodes: list[NodeReport]


class Finding(NamedTuple):
    """Something that somebody should know. `id` is stable; `node` is empty where it is about all of a place."""

    id: str
    severity: str
    place: str
    node: str
    text: str
    hint: str


class FleetReport(NamedTuple):
    """All of it.

    Attributes: now_ms: the instant from which days are counted; files, lines: what was read; unfinished_files: cut off.
    """

    v: int
    kctl: str
    now_ms: int
    wanted: Wanted
    files: int
    lines: int
    bad_lines: int
    bad_samples: list[BadLine]
    unfinished_files: int
    unknown: dict[str, int]
    findings: list[Finding]
    places: list[PlaceReport]


def as_object(value: Any) -> Any:
    """Return a value of a report as plain dicts and lists; shares are rounded to six digits."""
    if isinstance(value, tuple) and hasattr(value, "_asdict"):
        return {name: as_object(field) for name, field in value._asdict().items()}
    if isinstance(value, list | tuple):
        return [as_object(each) for each in value]
    if isinstance(value, dict):
        return {key: as_object(each) for key, each in value.items()}
    return round(value, 6) if isinstance(value, float) else value
