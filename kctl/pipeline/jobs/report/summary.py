"""From a Fleet to a report: everything is counted here, nothing is shown. Pure.

Shown by tests/unit/pipeline/report/test_page.py.
"""

from collections.abc import Iterable

from kctl.pipeline.jobs.report.findings import CERT_WARN_MS, DAY_MS, find, is_flapping
from kctl.pipeline.jobs.report.fleet import PHASES, Fleet, NodeRecord, PlaceRecord, join_runs
from kctl.pipeline.jobs.report.limits import Sample, Wanted, advise, without_outages
from kctl.pipeline.jobs.report.result import (
    QUANTILES,
    SCHEMA_VERSION,
    CertificateReport,
    CurvePoint,
    FleetReport,
    Latency,
    NodeReport,
    PlaceReport,
)
from kctl.pipeline.jobs.report.spread import Spread
from kctl.version import VERSION

CURVE_POINTS = 80


def summarise(
    fleet: Fleet, *, now_ms: int, wanted: Wanted | None = None, cert_warn_ms: int = CERT_WARN_MS
) -> FleetReport:
    """Return the report of a fleet.

    Args:
        now_ms: the present, since the epoch; the days left of certificates count from it.
        cert_warn_ms: how long before its end a certificate is a finding.
    """
    wanted = wanted or Wanted()
    nodes: dict[str, list[tuple[str, NodeRecord]]] = {place: [] for place in fleet.places}
    for key in sorted(fleet.nodes):
        nodes.setdefault(key.place, []).append((key.node, fleet.nodes[key]))
    places = [
        _place(name, fleet.places.get(name) or PlaceRecord(), nodes[name], wanted, now_ms) for name in sorted(nodes)
    ]
    return FleetReport(
        SCHEMA_VERSION,
        VERSION,
        now_ms,
        wanted,
        sum(place.files for place in places),
        fleet.lines,
        fleet.bad_lines,
        fleet.bad_samples,
        fleet.unfinished_files,
        dict(sorted(fleet.unknown.items())),
        find(places, fleet, wanted, cert_warn_ms),
        places,
    )


def _place(
    name: str, record: PlaceRecord, nodes: list[tuple[str, NodeRecord]], wanted: Wanted, now_ms: int
) -> PlaceReport:
    setup = _together(without_outages(node.setup)[0] for _, node in nodes)
    attempts = sum(node.attempts for _, node in nodes)
    expired = sum(node.expired for _, node in nodes)
    limits = advise(
        (Sample(node, record.setup) for node, record in nodes),
        (Sample(f"{api} at {node}", spread) for node, record in nodes for api, spread in record.requests.items()),
        wanted,
    )
    return PlaceReport(
        name,
        record.files,
        record.rounds,
        record.traces,
        record.first_ms,
        record.last_ms,
        attempts,
        expired,
        expired / attempts if attempts else None,
        latency(setup),
        _latencies(
            {
                phase: _together(without_outages(node.phases[phase])[0] for _, node in nodes if phase in node.phases)
                for phase in PHASES
            }
        ),
        latency(_together(spread for _, node in nodes for spread in node.requests.values())),
        limits,
        _thinned(setup),
        [_node(node, record, now_ms) for node, record in nodes],
    )


def _node(name: str, record: NodeRecord, now_ms: int) -> NodeReport:
    changes = record.changes + join_runs(record.runs)[1]
    setup, outages = without_outages(record.setup)
    # What expired under a limit that may have been too short is slow, for all that is known, and not down.
    is_down_mostly = 2 * (outages + record.failed) >= record.expired + record.failed
    ends = record.certificate
    limits = (record.shortest_limit_ms, record.longest_limit_ms)
    return NodeReport(
        name,
        record.attempts,
        record.ready,
        record.expired,
        record.failed,
        record.dropped,
        record.lost,
        record.requests_expired,
        record.expired / record.attempts if record.attempts else None,
        dict(sorted(record.expired_in.items())),
        dict(sorted(record.errors.items())),
        dict(sorted(record.addresses.items())),
        record.looks,
        changes,
        is_down_mostly and is_flapping(changes, record.looks),
        latency(setup),
        _latencies({phase: without_outages(record.phases.get(phase, Spread()))[0] for phase in PHASES}),
        {api: latency(spread) for api, spread in sorted(record.requests.items())},
        None if limits[0] is None or limits[1] is None else (limits[0], limits[1]),
        None
        if ends is None
        else CertificateReport(
            ends.subject, ends.issuer, ends.not_after_ms, (ends.not_after_ms - now_ms) / DAY_MS, ends.seen_at_ms
        ),
    )


def latency(spread: Spread) -> Latency:
    """Return the quantiles of a spread."""
    found: list[int | None] = [None] * len(QUANTILES)
    for point in spread.curve():
        for place, share in enumerate(QUANTILES):
            if found[place] is None and point.ended >= share - 1e-12:
                found[place] = point.ms
    return Latency(spread.ended, spread.cut_off, found[0], found[1], found[2], found[3], spread.slowest_ms)


def _latencies(spreads: dict[str, Spread]) -> dict[str, Latency]:
    return {name: latency(spread) for name, spread in spreads.items() if spread.ends or spread.cuts}


def _together(spreads: Iterable[Spread]) -> Spread:
    total = Spread()
    for spread in spreads:
        total.add(spread)
    return total


def _thinned(spread: Spread) -> list[CurvePoint]:
    kept: list[CurvePoint] = []
    last = None
    for point in spread.curve():
        last = CurvePoint(point.ms, point.ended)
        if not kept or point.ended - kept[-1].share >= 1 / CURVE_POINTS:
            kept.append(last)
    if last is not None and kept[-1] != last:
        kept.append(last)
    return kept
