"""The order of findings, what was checked and what was not."""

from kctl.client.broker_errors import ErrorCode, broker_error
from kctl.why import Gap, Look, Looks, Scope, Severity, diagnose
from tests.unit.why.looks import NODES, WALL_MS, partition, topic

LOOK = Look(
    WALL_MS,
    NODES,
    topics=topic(partition(0, -1, (4,), ()), *(partition(number, 1, (2, 1)) for number in range(1, 4))),
)


def test_gravest_finding_comes_first() -> None:
    findings = diagnose(Looks(LOOK), (Scope.CLUSTER,)).findings
    assert [each.id for each in findings] == ["no-leader", "broker-missing", "preferred-leader-not-leading"]


def test_only_ignored_and_severity_choose_findings() -> None:
    def ids(**given: object) -> list[str]:
        return [each.id for each in diagnose(Looks(LOOK), (Scope.CLUSTER,), **given).findings]  # type: ignore[arg-type]

    assert ids(only=frozenset({"broker-missing"})) == ["broker-missing"]
    assert ids(ignored=frozenset({"broker-missing"})) == ["no-leader", "preferred-leader-not-leading"]
    assert ids(severity=Severity.WARNING) == ["no-leader", "broker-missing"]


def test_scope_chooses_findings() -> None:
    assert "preferred-leader-not-leading" not in diagnose(Looks(LOOK), (Scope.TOPIC,)).checked


def test_gap_names_what_it_keeps_from_being_checked() -> None:
    error = broker_error(ErrorCode.CLUSTER_AUTHORIZATION_FAILED, "describe log directories of broker 1")
    gaps = (Gap("DescribeLogDirs", "broker 1", error, str(error)), Gap("ListGroups", "the cluster", error, str(error)))
    diagnosis = diagnose(Looks(LOOK._replace(gaps=gaps)), (Scope.CLUSTER,))
    [unchecked] = diagnosis.unchecked
    assert unchecked.ids == ("compaction-stalled", "disk-filling", "log-dir-offline")
    assert not {"disk-filling", "log-dir-offline"} & set(diagnosis.checked)


def test_one_look_leaves_what_needs_two_unchecked() -> None:
    one = diagnose(Looks(LOOK), (Scope.CLUSTER,))
    two = diagnose(Looks(LOOK, LOOK), (Scope.CLUSTER,))
    assert "stale-metadata" in one.needs_samples
    assert "stale-metadata" not in one.checked
    assert two.needs_samples == ()
    assert "stale-metadata" in two.checked
