"""Metrics in the Prometheus text format 0.0.4."""

from collections.abc import Iterable, Iterator, Mapping
from typing import NamedTuple

from kctl.client.wording import one_line

MOST_SERIES = 20_000
"""Maximum number of series of one metric."""

Labels = Mapping[str, str]


class Metric(NamedTuple):
    """Metric with its samples by labels."""

    name: str
    help: str
    series: list[tuple[Labels, float]]


def exposition(metrics: Iterable[Metric]) -> str:
    return "\n".join(line for metric in metrics for line in _lines(metric)) + "\n"


def _lines(metric: Metric) -> Iterator[str]:
    yield f"# HELP {metric.name} {metric.help}"
    yield f"# TYPE {metric.name} gauge"
    for labels, value in metric.series[:MOST_SERIES]:
        text = ",".join(f'{name}="{_escaped(value)}"' for name, value in labels.items())
        yield f"{metric.name}{{{text}}} {value:.15g}" if text else f"{metric.name} {value:.15g}"


def _escaped(value: str) -> str:
    return one_line(value).replace("\\", "\\\\").replace('"', '\\"')
