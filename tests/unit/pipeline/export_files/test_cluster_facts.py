"""Topics and groups that an export carries: as JSON and back, and which of several manifests count."""

from pathlib import Path

import pytest

from kctl.pipeline.export_files.cluster_facts import ClusterFacts, TopicFacts, facts_from, newest_facts
from kctl.pipeline.export_files.manifests import (
    Manifest,
    ManifestFile,
    manifest_text,
    merged_manifest,
    parse_manifest,
)
from kctl.pipeline.job_errors import ExportDataError

FACTS = ClusterFacts(
    {"a": TopicFacts(3, {"retention.ms": "5"}), "b": TopicFacts(1, None)}, {"g": {"a": {0: 7, 2: 0}}, "empty": {}}
)
SETTINGS = {"format": "parquet", "layout": "topic"}


def test_facts_are_the_same_after_json() -> None:
    assert facts_from(FACTS.to_json()) == FACTS
    assert ClusterFacts().to_json() == {}


def test_the_newest_of_each_topic_and_group_count() -> None:
    later = ClusterFacts({"a": TopicFacts(4, {})}, {"g": {"a": {0: 9}}})
    assert newest_facts([FACTS, ClusterFacts(), later]) == ClusterFacts(
        {"a": TopicFacts(4, {}), "b": TopicFacts(1, None)}, {"g": {"a": {0: 9}}, "empty": {}}
    )


def test_manifests_keep_facts_when_they_are_merged() -> None:
    contents = [Manifest(1, SETTINGS, (), 1, FACTS), Manifest(2, SETTINGS, (), 2)]
    parts = [ManifestFile(Path(f"0000000{n}.json"), n, n, 1) for n in (1, 2)]
    merged = merged_manifest(parts, contents)
    file = ManifestFile(Path("00000001-00000002.json"), 1, 2, 1)
    assert parse_manifest(manifest_text(merged).encode(), file).facts == FACTS


@pytest.mark.parametrize(
    "damaged",
    [
        '"x"',
        '{"topics": {"a": 1}}',
        '{"topics": {"a": {"partitions": "x"}}}',
        '{"topics": {"a": {"partitions": Infinity}}}',
        '{"topics": {"a": {"partitions": 0}}}',
        '{"topics": {"a": {"partitions": 2147483648}}}',
        '{"topics": {"a": {"partitions": 1, "configs": {"retention.ms": null}}}}',
        '{"topics": {"a": {"partitions": 1, "configs": {"retention.ms": "%s"}}}}' % ("1" * 32768),
        '{"groups": {"g": {"a": {"x": 1}}}}',
        '{"groups": {"g": {"a": {"-1": 1}}}}',
        '{"groups": {"g": {"a": {"2147483647": 1}}}}',
        '{"groups": {"g": {"a": {"0": -1}}}}',
        '{"groups": {"g": {"a": {"0": 9223372036854775808}}}}',
    ],
)
def test_damaged_facts_are_named(damaged: str) -> None:
    text = manifest_text(Manifest(1, SETTINGS, (), 1)).removesuffix("}") + f', "cluster": {damaged}}}'
    with pytest.raises(ExportDataError, match=r"00000001\.json is not an export manifest"):
        parse_manifest(text.encode(), ManifestFile(Path("00000001.json"), 1, 1, 1))
