"""Copies of topics keep the configs of their source, or are rejected if the target would delete or reject records."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from kctl.client.admin import Admin, ConfigResource, NewTopic, ResourceType
from kctl.client.errors import ConfigError
from kctl.client.producer import Producer
from kctl.pipeline.export_files.cluster_facts import ClusterFacts, TopicFacts
from kctl.pipeline.export_files.manifests import MANIFESTS, ExportedRange, Manifest, manifest_text
from kctl.pipeline.job_errors import RecordLossError
from kctl.pipeline.jobs import mirror as mirror_module
from kctl.pipeline.jobs.file_import import ImportRequest, import_files, plan_import
from kctl.pipeline.jobs.mirror import MirrorRequest, mirror, plan_mirror
from kctl.pipeline.jobs.replay import ReplayRequest, _tasks
from kctl.pipeline.jobs.topic_rules import conflicts, create_alike
from kctl.sandbox.sandbox import Sandbox

Properties = dict[str, object]
WEEK_MS, DAY_MS = "604800000", "86400000"
AFTER = "message.timestamp.after.max.ms"
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
        assert create_alike(admin, {"t": TopicFacts(1, {})}, {"t": {**DEFAULT, **FOREVER}}) == []
    assert configs_of(target, "t") == FOREVER


def test_mirror_to_a_topic_that_would_delete_records_is_rejected(sides: tuple[Properties, Properties]) -> None:
    source, target = sides
    create(source, "t", FOREVER)
    create(target, "t", {})
    with Producer(source) as producer:
        producer.send("t", b"v", timestamp_ms=1)
    request = MirrorRequest(("t",), source, target, create=True)
    text = f"t: retention.ms={WEEK_MS} deletes records that the source keeps (without a limit)"
    assert plan_mirror(request).problems == (text,)
    with pytest.raises(RecordLossError) as caught:
        mirror(request)
    assert text in str(caught.value)


def test_mirror_with_create_adds_partitions(sides: tuple[Properties, Properties]) -> None:
    source, target = sides
    create(source, "t", {}, 3)
    create(target, "t", {}, 1)
    request = MirrorRequest(("t",), source, target)
    with pytest.raises(ConfigError, match="--create adds those that are missing"):
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
    with pytest.raises(RecordLossError, match="t: the configs of the source cannot be read"):
        mirror(MirrorRequest(("t",), source, target, create=True))
    with Admin(target) as admin:
        assert not admin.list_topics()
