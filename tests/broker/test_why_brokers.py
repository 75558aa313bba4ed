"""`kctl why` on real Kafka: throttles that Kafka's own tool has set, and a small file system that fills."""

import shlex
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from kctl.client.producer import Producer
from tests.broker.test_why import why, why_until
from tests.cli.processes import kctl
from tests.support.kafka.cluster import KafkaCluster
from tests.support.kafka.requirements import have
from tests.support.kafka.toolchain import NEWEST_KAFKA

CONFIGS = "kafka.admin.ConfigCommand"
RATE = "leader.replication.throttled.rate=1000000,follower.replication.throttled.rate=1000000"
DISK_BYTES, FILL_BYTES = 64 << 20, 61 << 20
RECORD_BYTES = 900_000


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """A file system of its own with a few megabytes."""
    folder = tmp_path / "disk"
    folder.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", f"size={DISK_BYTES}", "kctl-small-disk", str(folder)]
    if subprocess.run(mount, capture_output=True).returncode != 0:
        pytest.skip("a file system can be mounted by root only")
    try:
        yield folder
    finally:
        subprocess.run(["umount", "-l", str(folder)], check=True)


def test_throttle_of_kafkas_own_tool_is_left_behind_until_its_cure(kafka_newest: KafkaCluster) -> None:
    assert "throttle-left-behind" not in why(kafka_newest, "why", "cluster")[1]
    where = ("--bootstrap-server", kafka_newest.bootstrap(), "--entity-type", "brokers", "--entity-name", "1")
    kafka_newest.run_tool(CONFIGS, *where, "--alter", "--add-config", RATE)
    _, found = why_until(lambda found: "throttle-left-behind" in found, kafka_newest, "why", "cluster")
    left = found["throttle-left-behind"]
    assert left["subject"] == "broker 1"
    assert all(rate in left["sentence"] for rate in RATE.split(","))
    assert kctl(*shlex.split(left["cure"])[1:], "-b", kafka_newest.bootstrap()).code == 0
    why_until(lambda found: "throttle-left-behind" not in found, kafka_newest, "why", "cluster")


def test_small_file_system_that_fills_is_named_with_its_largest_topic(small_disk: Path) -> None:
    data = small_disk / "data"
    with have(lambda: KafkaCluster(NEWEST_KAFKA, 1, {"log.dirs": str(data)})) as cluster:
        topic = cluster.create_topic()
        assert "disk-filling" not in why(cluster, "why", "cluster")[1]
        free = FILL_BYTES - sum(each.stat().st_blocks * 512 for each in data.rglob("*") if each.is_file())
        with Producer({"bootstrap.servers": cluster.bootstrap(), "max.request.size": 2 * RECORD_BYTES}) as producer:
            for _ in range(free // RECORD_BYTES):
                producer.send(topic, bytes(RECORD_BYTES))
        ended, found = why(cluster, "why", "cluster")
        assert ended.code == 3
        filling = found["disk-filling"]
        assert filling["subject"] == "broker 1"
        assert f" of 67.1 MB free ({100 * (DISK_BYTES - FILL_BYTES) // DISK_BYTES} %) in {data}" in filling["sentence"]
        assert f"; {topic} takes most of it (" in filling["sentence"]
        assert filling["cure"].startswith(f"kctl configs set topic {topic} retention.bytes=")
