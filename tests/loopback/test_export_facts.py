"""Configs of topics and offsets of groups for an export, read from a cluster and created in another one."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from kctl.client.admin import Admin, ConfigResource, NewTopic, ResourceType
from kctl.client.cluster import TopicPartition
from kctl.client.errors import BrokerError
from kctl.client.producer import Producer
from kctl.pipeline.export_files.cluster_facts import NO_FACTS, ClusterFacts, TopicFacts
from kctl.pipeline.export_files.manifests import MANIFESTS, ExportedRange, Manifest, manifest_text
from kctl.pipeline.group_selection import GroupSelection
from kctl.pipeline.jobs.cluster_facts import create_topics, read_facts
from kctl.pipeline.jobs.file_import import ImportRequest, _check_targets, plan_import
from kctl.sandbox.sandbox import Sandbox

CONFIGS = {"retention.ms": "3600000", "cleanup.policy": "compact"}


def test_topics_are_created_as_they_were_and_refused_configs_are_named() -> None:
    with Sandbox(nodes=1).serve() as served, Admin({"bootstrap.servers": served.bootstrap}) as admin:
        admin.create_topics([NewTopic("a", 3, configs=CONFIGS), NewTopic("b", 1)]).raise_first()
        with Producer({"bootstrap.servers": served.bootstrap}) as producer:
            producer.send("a", b"v", b"k", partition=1)
            producer.flush()
        admin.alter_group_offsets("app-1", {TopicPartition("a", 1): 1, TopicPartition("b", 0): 0}).raise_first()
        admin.alter_group_offsets("other", {TopicPartition("a", 1): 1}).raise_first()
        facts = read_facts(admin, ["a", "b"], GroupSelection(pattern="app-.*"))
        assert facts == ClusterFacts(
            {"a": TopicFacts(3, CONFIGS), "b": TopicFacts(1, {})}, {"app-1": {"a": {1: 1}, "b": {0: 0}}}
        )
        assert read_facts(admin, ["b"], GroupSelection(("other",))).groups == {}
        wrong = TopicFacts(2, {**CONFIGS, "no.such.config": "1"})
        refused = create_topics(admin, {"copy": facts.topics["a"], "other": wrong})
        assert [(each.topic, each.name, each.value) for each in refused] == [("other", "no.such.config", "1")]
        assert "no.such.config" in refused[0].reason
        for topic, count in (("copy", 3), ("other", 2)):
            assert len(admin.describe_topics([topic])[topic].partitions) == count
            resource = ConfigResource(ResourceType.TOPIC, topic)
            found = admin.describe_configs([resource])[resource]
            assert {name: found[name].value for name in CONFIGS} == CONFIGS


def test_groups_with_offsets_where_the_target_has_no_partition_are_refused_before_the_import(tmp_path: Path) -> None:
    exported = ExportedRange("a", 0, 0, 5, 5, ())
    facts = ClusterFacts({"a": TopicFacts(3, {})}, {"app": {"a": {0: 5, 2: 0}}})
    manifest = Manifest(1, {"format": "parquet", "layout": "topic"}, (exported,), 1, facts)
    (tmp_path / MANIFESTS).mkdir()
    (tmp_path / MANIFESTS / "00000001.json").write_text(manifest_text(manifest))
    with Sandbox(nodes=1, topics={"a": 2, "whole": 3}).serve() as served:
        request = ImportRequest(tmp_path, {"bootstrap.servers": served.bootstrap}, keep_partitions=True)
        assert plan_import(request).groups == ()
        restoring = request._replace(groups=GroupSelection(("app",)))
        with pytest.raises(BrokerError, match="the export has records of partition 2, but the topic has 2 partitions"):
            plan_import(restoring)
        assert plan_import(restoring._replace(topic="whole")).groups == ("app",)
        created = plan_import(restoring._replace(topic="new", create=True)).missing
        assert created["new"].partitions == 3


def test_ranges_of_an_export_are_looked_at_once_for_all_topics() -> None:
    """They were for each: an export of 10,000 topics with 500,000 ranges took minutes before anything was asked."""
    looks = 0

    class Ranges(list[ExportedRange]):
        def __iter__(self) -> Iterator[ExportedRange]:
            nonlocal looks
            looks += 1
            return super().__iter__()

    topics = {f"t{i}": 2 for i in range(9)}
    ranges = Ranges(ExportedRange(name, partition, 0, 1, 1, ()) for name in topics for partition in (1, 0))
    with Sandbox(nodes=1, topics={**topics, "t": 1}).serve() as served:
        request = ImportRequest(Path("x"), {"bootstrap.servers": served.bootstrap}, keep_partitions=True)
        assert _check_targets(request, topics, ranges, NO_FACTS, ())[1] == {}
        assert looks == 1
        with pytest.raises(BrokerError, match="the export has records of partition 1, but the topic has 1 partitions"):
            _check_targets(request._replace(topic="t"), topics, ranges, NO_FACTS, ())
