"""Copies of topics keep the configs of their source, or are rejected if the target would delete or reject records."""

import re
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest

from kctl.client.admin import Admin, ConfigResource, NewTopic, ResourceType, Results, topics
from kctl.client.broker_errors import ErrorCode, broker_error
from kctl.client.clock import SystemClock
from kctl.client.errors import BrokerError, ConfigError, KafkaError
from kctl.client.producer import Producer
from kctl.pipeline.export_files.cluster_facts import ClusterFacts, TopicFacts
from kctl.pipeline.export_files.manifests import MANIFESTS, ExportedRange, Manifest, manifest_text
from kctl.pipeline.job_errors import RecordLossError
from kctl.pipeline.jobs import cluster_facts, topic_rules
from kctl.pipeline.jobs import mirror as mirror_module
from kctl.pipeline.jobs.cluster_facts import RefusedConfig
from kctl.pipeline.jobs.file_import import ImportRequest, import_files, plan_import
from kctl.pipeline.jobs.mirror import MirrorRequest, mirror, plan_mirror
from kctl.pipeline.jobs.mirror_positions import POSITIONS_TOPIC
from kctl.pipeline.jobs.replay import ReplayRequest, _tasks
from kctl.pipeline.jobs.topic_rules import (
    AFTER,
    Rules,
    conflicts,
    create_alike,
    late_records,
    latest_accepted_ms,
    problems,
    read_rules,
)
from kctl.pipeline.ranges import OffsetRange
from kctl.sandbox.sandbox import Sandbox

Properties = dict[str, object]
WEEK_MS, DAY_MS = "604800000", "86400000"
HOUR_MS, UNLIMITED = "3600000", str(2**63 - 1)
OF_3_X = Rules({AFTER: UNLIMITED}, frozenset({AFTER}))
OF_4_X = Rules({AFTER: HOUR_MS}, frozenset({AFTER}))
FOREVER = {"retention.ms": "-1"}
DEFAULT = {"cleanup.policy": "delete", "retention.ms": WEEK_MS, "retention.bytes": "-1", "max.message.bytes": "1048588"}


@pytest.fixture
def sides() -> Iterator[tuple[Properties, Properties]]:
    """The properties of two clusters."""
    with Sandbox(nodes=1).serve() as source, Sandbox(nodes=1).serve() as target:
        yield {"bootstrap.servers": source.bootstrap}, {"bootstrap.servers": target.bootstrap}


def create(properties: Properties, name: str, configs: dict[str, str], partitions: int = 1) -> None:
    with Admin(properties) as admin:
        admin.create_topics([NewTopic(name, partitions, configs=configs)]).raise_first()


def configs_of(properties: Properties, name: str) -> dict[str, str | None]:
    """Return the configs that are set on a topic."""
    resource = ConfigResource(ResourceType.TOPIC, name)
    with Admin(properties) as admin:
        return {
            each.name: each.value for each in admin.describe_configs([resource])[resource].values() if each.source == 1
        }


@pytest.mark.parametrize(
    ("source", "target", "names"),
    [
        ({}, {}, []),
        ({"retention.ms": DAY_MS}, {}, []),
        ({}, {"retention.ms": "-1"}, []),
        (FOREVER, {}, ["retention.ms"]),
        ({}, {"retention.ms": DAY_MS}, ["retention.ms"]),
        ({}, {"retention.ms": "0"}, ["retention.ms"]),
        ({"cleanup.policy": "compact"}, {}, ["retention.ms"]),
        ({"cleanup.policy": "compact"}, {"cleanup.policy": "compact", "retention.ms": DAY_MS}, []),
        ({}, {"cleanup.policy": "compact"}, ["cleanup.policy"]),
        ({}, {"cleanup.policy": "compact,delete"}, ["cleanup.policy"]),
        ({"cleanup.policy": "compact"}, {"cleanup.policy": "compact,delete"}, ["retention.ms"]),
        ({}, {"retention.bytes": "1000"}, ["retention.bytes"]),
        ({"retention.bytes": "1000"}, {"retention.bytes": "2000"}, []),
        ({}, {"max.message.bytes": "1000"}, ["max.message.bytes"]),
        (
            {"message.timestamp.after.max.ms": "9"},
            {"message.timestamp.after.max.ms": "8"},
            ["message.timestamp.after.max.ms"],
        ),
        ({}, {AFTER: "8"}, []),
        (
            {"message.timestamp.before.max.ms": "9"},
            {"message.timestamp.before.max.ms": "8", "message.timestamp.type": "LogAppendTime"},
            [],
        ),
    ],
)
def test_conflicts_are_configs_that_delete_or_reject_records(
    source: dict[str, str], target: dict[str, str], names: list[str]
) -> None:
    assert list(conflicts({**DEFAULT, **source}, {**DEFAULT, **target})) == names


def test_mirror_creates_topics_with_the_configs_of_the_source(sides: tuple[Properties, Properties]) -> None:
    source, target = sides
    create(source, "forever", {**FOREVER, "min.insync.replicas": "1", "max.message.bytes": "2000000"}, 2)
    create(source, "compact", {"cleanup.policy": "compact"})
    request = MirrorRequest(("forever", "compact"), source, target, create=True)
    assert plan_mirror(request).missing["forever"].partitions == 2
    mirror(request)
    assert configs_of(target, "forever") == {**FOREVER, "max.message.bytes": "2000000"}
    assert configs_of(target, "compact") == {"cleanup.policy": "compact"}
    assert plan_mirror(request).problems == ()


def test_defaults_of_the_brokers_that_differ_are_set_on_the_topic(sides: tuple[Properties, Properties]) -> None:
    _, target = sides
    with Admin(target) as admin:
        assert create_alike(admin, {"t": TopicFacts(1, {})}, {"t": Rules({**DEFAULT, **FOREVER})}) == []
    assert configs_of(target, "t") == FOREVER


def test_mirror_to_a_topic_that_would_delete_records_is_rejected(sides: tuple[Properties, Properties]) -> None:
    source, target = sides
    create(source, "t", FOREVER)
    create(target, "t", {})
    with Producer(source) as producer:
        producer.send("t", b"v", timestamp_ms=1)
    request = MirrorRequest(("t",), source, target, create=True)
    text = f"t: retention.ms={WEEK_MS} deletes records that the source keeps (no limit)"
    assert plan_mirror(request).problems == (text,)
    with pytest.raises(RecordLossError) as caught:
        mirror(request)
    assert text in str(caught.value)


def test_mirror_with_create_adds_partitions(sides: tuple[Properties, Properties]) -> None:
    source, target = sides
    create(source, "t", {}, 3)
    create(target, "t", {}, 1)
    request = MirrorRequest(("t",), source, target)
    with pytest.raises(ConfigError, match="To add the missing partitions, use --create"):
        plan_mirror(request)
    assert plan_mirror(request._replace(create=True)).grown == {"t": 3}
    mirror(request._replace(create=True))
    assert plan_mirror(request).grown == {}


@pytest.mark.parametrize("configs", [FOREVER, None], ids=["set", "default"])
def test_import_with_timestamps_is_rejected_if_the_topic_would_delete_records(
    tmp_path: Path, sides: tuple[Properties, Properties], configs: dict[str, str] | None
) -> None:
    _, target = sides
    facts = ClusterFacts({"t": TopicFacts(1, configs)})
    manifest = Manifest(1, {"format": "parquet", "layout": "topic"}, (ExportedRange("t", 0, 0, 5, 5, ()),), 1, facts)
    (tmp_path / MANIFESTS).mkdir()
    (tmp_path / MANIFESTS / "00000001.json").write_text(manifest_text(manifest))
    create(target, "t", {"retention.ms": DAY_MS})
    request = ImportRequest(tmp_path, target)
    assert plan_import(request).problems == ()
    keeping = request._replace(keep_timestamps=True)
    assert len(plan_import(keeping).problems) == 1
    with pytest.raises(RecordLossError, match=f"t: retention.ms={DAY_MS} deletes records"):
        import_files(keeping)


def test_replay_with_timestamps_is_rejected_if_the_topic_would_delete_records(
    sides: tuple[Properties, Properties],
) -> None:
    source, target = sides
    create(source, "dead", FOREVER)
    create(target, "t", {"cleanup.policy": "compact,delete"})
    request = ReplayRequest("dead", source, target, to_topic="t")
    _tasks(request)
    with pytest.raises(RecordLossError, match=f"t: retention.ms={WEEK_MS} deletes records"):
        _tasks(request._replace(keep_timestamps=True))
    _tasks(request._replace(keep_timestamps=True, allow_loss=True))


def test_topic_whose_configs_cannot_be_read_is_not_created_with_defaults(
    sides: tuple[Properties, Properties], monkeypatch: pytest.MonkeyPatch
) -> None:
    source, target = sides
    create(source, "t", FOREVER)
    monkeypatch.setattr(mirror_module, "read_rules", lambda _admin, names: dict.fromkeys(names))
    with pytest.raises(RecordLossError, match="t: cannot read the configs of the source"):
        mirror(MirrorRequest(("t",), source, target, create=True))
    with Admin(target) as admin:
        assert not admin.list_topics()


def test_limit_that_is_set_is_a_conflict_and_a_default_of_versions_is_not() -> None:
    assert (problems(OF_3_X, OF_4_X, "t"), latest_accepted_ms(OF_3_X, OF_4_X)) == ([], 3_600_000)
    assert (problems(OF_4_X, OF_3_X, "t"), latest_accepted_ms(OF_4_X, OF_3_X)) == ([], None)
    line = f"t: {AFTER}={HOUR_MS} rejects records that the source accepts ({UNLIMITED})"
    for source, target in ((OF_3_X._replace(defaults=frozenset()), OF_4_X), (OF_3_X, Rules(OF_4_X.configs))):
        assert (problems(source, target, "t"), latest_accepted_ms(source, target)) == ([line], None)
    assert latest_accepted_ms(None, OF_4_X) is None


def test_rules_name_the_configs_with_defaults(sides: tuple[Properties, Properties]) -> None:
    source, _ = sides
    create(source, "t", {AFTER: "5"})
    create(source, "u", {})
    with Admin(source) as admin:
        found = read_rules(admin, ["t", "u"])
    assert [AFTER in (rules or Rules({})).defaults for rules in found.values()] == [False, True]
    assert all("retention.ms" in (rules or Rules({})).defaults for rules in found.values())


def test_rules_that_cannot_be_read_for_another_reason_than_permission_are_an_error() -> None:
    class Failing(Admin):
        def __init__(self, error: KafkaError) -> None:
            self._failing = error

        def describe_configs(self, resources: Any, **_more: Any) -> Any:
            return Results({}, dict.fromkeys(resources, self._failing))

    denied = broker_error(ErrorCode.TOPIC_AUTHORIZATION_FAILED, "describe configs of t")
    assert read_rules(Failing(denied), ["t"]) == {"t": None}
    unknown = broker_error(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, "describe configs of t")
    with pytest.raises(BrokerError, match="describe configs of t"):
        read_rules(Failing(unknown), ["t"])


def test_late_records_are_the_ones_to_copy_that_a_default_would_reject(sides: tuple[Properties, Properties]) -> None:
    source, _ = sides
    create(source, "t", {AFTER: UNLIMITED}, 2)
    now_ms = SystemClock().wall_ms()
    with Producer(source) as producer:
        for at_ms in (now_ms, now_ms + 2 * 3_600_000 + 60_000, now_ms):
            producer.send("t", b"v", partition=0, timestamp_ms=at_ms)
    whole = [OffsetRange("t", 0, 0, 3), OffsetRange("t", 1, 0, 0)]
    with Admin(source) as admin:
        (line,) = late_records(admin, whole, {"t": 3_600_000})
        assert re.fullmatch(rf"t-0: {AFTER}=3600000 \(default\) .* at offset 1, .* 2h\w* in the future", line)
        assert late_records(admin, whole, {"t": 3 * 3_600_000}) == []
        assert late_records(admin, [OffsetRange("t", 0, 2, 3)], {"t": 3_600_000}) == []
        assert late_records(admin, whole, {"u": 3_600_000}) == []


def test_mirror_from_older_brokers_is_rejected_only_with_records_that_newer_ones_reject(
    sides: tuple[Properties, Properties], monkeypatch: pytest.MonkeyPatch
) -> None:
    source, target = sides
    create(source, "t", {AFTER: UNLIMITED})
    create(target, "t", {})
    sides_read = 0

    def read(admin: Admin, names: Iterable[str]) -> dict[str, Rules | None]:
        """Rules of the source, which is read first, as Kafka 3.x has them."""
        nonlocal sides_read
        sides_read += 1
        found = read_rules(admin, names)
        of_3_x = {AFTER: UNLIMITED}
        return {
            name: rules if rules is None or sides_read % 2 == 0 else Rules({**rules.configs, **of_3_x}, OF_3_X.defaults)
            for name, rules in found.items()
        }

    monkeypatch.setattr(mirror_module, "read_rules", read)
    request = MirrorRequest(("t",), source, target)
    now_ms = SystemClock().wall_ms()
    with Producer(source) as producer:
        producer.send("t", b"v", timestamp_ms=now_ms)
        producer.flush(10)
        plan = plan_mirror(request)
        assert (plan.problems, plan.limits_ms) == ((), {"t": 3_600_000})
        producer.send("t", b"v", timestamp_ms=now_ms + 2 * 3_600_000)
    with pytest.raises(RecordLossError, match=f"t-0: {AFTER}=3600000 .default. rejects the record at offset 1"):
        mirror(request)


def test_mirror_waits_until_brokers_know_the_topics_that_it_creates(
    sides: tuple[Properties, Properties], monkeypatch: pytest.MonkeyPatch
) -> None:
    source, target = sides
    create(source, "t", FOREVER)
    create_topics = cluster_facts.create_topics

    def created(admin: Admin, missing: Mapping[str, TopicFacts]) -> list[RefusedConfig]:
        refused = create_topics(admin, missing)
        unknown = broker_error(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, "describe topic copy")
        describe, late = topics._described, [unknown] * 3  # one call queries two brokers

        def described(call: Any, behind: Any, names: list[str], broker_id: int | None = None) -> Any:
            return {"copy": late.pop()} if late and names == ["copy"] else describe(call, behind, names, broker_id)

        monkeypatch.setattr(topics, "_described", described)
        return refused

    monkeypatch.setattr(topic_rules, "create_topics", created)
    assert mirror(MirrorRequest(("t",), source, target, "copy", create=True)).records == 0
    assert configs_of(target, "copy") == FOREVER


def test_mirror_with_a_pattern_creates_the_topics_that_match(sides: tuple[Properties, Properties]) -> None:
    source, target = sides
    for name in ("orders-a", "orders-b", "other", POSITIONS_TOPIC):
        create(source, name, FOREVER)
    request = MirrorRequest((), source, target, pattern=f"orders-.*|{POSITIONS_TOPIC}", create=True)
    assert mirror(request).records == 0
    with Admin(target) as admin:
        assert set(admin.list_topics()) == {"orders-a", "orders-b"}
    with pytest.raises(BrokerError, match="no topic matches x"):
        mirror(request._replace(pattern="x"))
    assert plan_mirror(request._replace(pattern="x", interval_ms=1)).tasks == ()
