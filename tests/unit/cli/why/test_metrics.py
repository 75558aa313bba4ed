"""The page of metrics: every sample is well formed, whatever names groups have."""

import re

import pytest

from kctl.cli.why import metrics
from kctl.cli.why.metrics import State, metrics_text
from kctl.client.cluster import TopicPartition
from kctl.why import Look, Looks, Scope, diagnose
from tests.unit.why.looks import NODES, WALL_MS, group, offsets, partition, topic

LINE = re.compile(r'[a-z_]+(\{([a-z]+="([^"\\]|\\["\\])*",?)+\})? [0-9.e+-]+')
HOSTILE = 'g"} 1\n# TYPE x counter\n\\'


def page(group_id: str = "g", error: str = "") -> str:
    look = Look(
        WALL_MS,
        NODES,
        topics=topic(partition(0, 1)),
        groups={group_id: group(committed={0: 4})["g"]},
        starts=offsets({0: 0}),
        ends=offsets({0: 10}),
        next_times={(TopicPartition("t", 0), 4): WALL_MS - 90_000},
    )
    looks = Looks(look)
    return metrics_text(State(looks, diagnose(looks, tuple(Scope)), 1_500, error))


def test_page_has_findings_lag_and_its_age() -> None:
    lines = page().splitlines()
    assert 'kctl_why_findings{id="group-no-members",severity="warning",subject="group g"} 1' in lines
    assert 'kctl_group_lag_records{group="g",topic="t",partition="0"} 6' in lines
    assert 'kctl_group_lag_seconds{group="g",topic="t",partition="0"} 90' in lines
    assert "kctl_why_up 1" in lines
    assert "kctl_why_look_duration_seconds 1.5" in lines
    assert f"kctl_why_look_timestamp_seconds {WALL_MS // 1000}" in lines


def test_names_do_not_break_out_of_their_label() -> None:
    for line in page(HOSTILE).splitlines():
        assert line.startswith("# ") or LINE.fullmatch(line), line
    assert "# TYPE x counter" not in page(HOSTILE).splitlines()


def test_failed_look_is_down_and_keeps_the_last_findings() -> None:
    lines = page(error="timed out").splitlines()
    assert "kctl_why_up 0" in lines
    assert any(line.startswith("kctl_why_findings{") for line in lines)
    assert metrics_text(State(None, None, 0, "timed out")).splitlines()[2] == "kctl_why_up 0"


def test_series_beyond_the_limit_are_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    assert "kctl_why_dropped_series 0" in page().splitlines()
    monkeypatch.setattr(metrics, "MOST_SERIES", 0)
    assert "kctl_why_dropped_series 0" not in page().splitlines()
