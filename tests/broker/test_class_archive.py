"""The archive of Kafka's classes: the fixtures' brokers and tools have it, and map most of what they load from it."""

import os
import subprocess
from pathlib import Path

import pytest

from tests.support.bounds import bound
from tests.support.kafka.class_archive import make_class_archive
from tests.support.kafka.cluster import KafkaCluster
from tests.support.kafka.toolchain import java_command

pytestmark = pytest.mark.nightly

MAPPED = "source: shared objects file (top)"


def test_brokers_and_tools_map_their_classes(any_kafka: KafkaCluster, tmp_path: Path) -> None:
    archive = make_class_archive(any_kafka.version)
    assert (
        f"-XX:SharedArchiveFile={archive}".encode()
        in Path(f"/proc/{any_kafka.node(1).process.pid}/cmdline").read_bytes()
    )
    command = java_command(any_kafka.class_path, "kafka.admin.ConfigCommand", "--help")
    command[1:1] = [f"-Xlog:class+load:file={tmp_path / 'loaded'}"]
    subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, timeout=bound(60))
    loaded = [line for line in (tmp_path / "loaded").read_text().splitlines() if " kafka." in line or ".kafka." in line]
    assert sum(MAPPED in line for line in loaded) > len(loaded) / 2


def test_archive_of_another_class_path_is_ignored_without_a_word(any_kafka: KafkaCluster, tmp_path: Path) -> None:
    command = java_command(any_kafka.class_path, "kafka.admin.ConfigCommand", "--version")
    assert any(word.startswith("-XX:SharedArchiveFile=") for word in command)
    command[command.index(any_kafka.class_path)] = f"{tmp_path}{os.pathsep}{any_kafka.class_path}"
    ended = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=bound(60))
    assert ended.returncode == 0
    assert ended.stdout.split()[0] == any_kafka.version
