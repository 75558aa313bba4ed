"""Samples and findings in the Prometheus text format 0.0.4."""

from collections.abc import Iterator
from typing import NamedTuple

from kctl.cli.formats.prometheus import MOST_SERIES, Labels, Metric, exposition
from kctl.client.cluster import TopicPartition
from kctl.why import Diagnosis, Looks


class State(NamedTuple):
    """Latest findings, and the result of the latest sample. `error` is empty if the sample succeeded."""

    looks: Looks | None
    diagnosis: Diagnosis | None
    took_ms: int
    error: str


def metrics_text(state: State) -> str:
    metrics = list(_metrics(state))
    dropped = sum(max(0, len(metric.series) - MOST_SERIES) for metric in metrics)
    metrics.append(Metric("kctl_why_dropped_series", "Number of series that were omitted.", [({}, dropped)]))
    return exposition(metrics)


def _metrics(state: State) -> Iterator[Metric]:
    looks, diagnosis = state.looks, state.diagnosis
    is_up = looks is not None and not state.error
    yield Metric("kctl_why_up", "1 if the last check succeeded.", [({}, is_up)])
    if looks is None or diagnosis is None:
        return
    yield Metric("kctl_why_look_timestamp_seconds", "Start time of the last check.", [({}, looks.now.wall_ms / 1000)])
    yield Metric("kctl_why_look_duration_seconds", "Duration of the last check.", [({}, state.took_ms / 1000)])
    yield Metric("kctl_why_requests", "Requests sent by the last check.", [({}, looks.now.requests)])
    yield Metric("kctl_why_complete", "1 if everything was checked.", [({}, not diagnosis.unchecked)])
    counts: dict[tuple[str, str, str], int] = {}
    for each in diagnosis.findings:
        key = (each.id, each.severity.value, each.subject)
        counts[key] = counts.get(key, 0) + 1
    findings = [({"id": name, "severity": how, "subject": what}, n) for (name, how, what), n in counts.items()]
    yield Metric(
        "kctl_why_findings", "Number of findings by ID. To describe a finding, run kctl explain ID.", [*findings]
    )
    yield Metric("kctl_group_lag_records", "Number of unread records of a group.", list(_lags(looks)))
    yield Metric("kctl_group_lag_seconds", "Age of the next unread record of a group.", list(_ages(looks)))
    yield Metric("kctl_probe_phase_seconds", "Duration of each phase of a connection.", list(_phases(looks)))
    ready = [({"address": str(each.target)}, float(each.is_ready)) for each in looks.now.probed.reports]
    yield Metric("kctl_probe_ready", "1 if the address is usable.", [*ready])


def _lags(looks: Looks) -> Iterator[tuple[Labels, float]]:
    for group_id, group in looks.now.groups.items():
        for tp in group.partitions:
            lag = looks.lag(group, tp)
            if lag is not None:
                yield _of(group_id, tp), lag


def _ages(looks: Looks) -> Iterator[tuple[Labels, float]]:
    for group_id, group in looks.now.groups.items():
        for tp in group.partitions:
            lag, date = looks.lag(group, tp), looks.now.next_time_ms(group, tp)
            if lag == 0:
                yield _of(group_id, tp), 0
            elif lag is not None and date is not None:
                yield _of(group_id, tp), max(0, looks.now.wall_ms - date) / 1000


def _phases(looks: Looks) -> Iterator[tuple[Labels, float]]:
    for report in looks.now.probed.reports:
        for phase, ms in report.phases_ms.items():
            yield {"address": str(report.target), "phase": phase.value}, ms / 1000


def _of(group_id: str, tp: TopicPartition) -> Labels:
    return {"group": group_id, "topic": tp.topic, "partition": str(tp.partition)}
