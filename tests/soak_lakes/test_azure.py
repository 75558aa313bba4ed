"""Exports in Azure Blob Storage, with Azurite as the server and pyarrow as the foreign reader: each record once.

Needs Node.js for Azurite, so `make soak-lakes` runs it and no tier of CI does.
"""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.pipeline.exports import on_topic
from tests.pipeline.stored_exports import (
    SMALL,
    Drive,
    assert_one_of_two_runs_commits,
    continue_and_copy_back,
    driving,
    filled_topic,
    kill_after_a_round,
    seen_by_others,
)
from tests.support.azure import CONTAINER, KEY, AzureServer, installed_azurite
from tests.support.kafka.cluster import KafkaCluster
from tests.support.kafka.requirements import have


@pytest.fixture(scope="module")
def azure() -> Iterator[AzureServer]:
    with AzureServer(have(installed_azurite)) as server, pytest.MonkeyPatch.context() as patched:
        for name, value in server.environment.items():
            patched.setenv(name, value)
        yield server


@pytest.fixture
def drive(kafka_newest: KafkaCluster, azure: AzureServer, tmp_path: Path) -> Iterator[Drive]:
    """`kctl pipeline` as processes."""
    with driving(kafka_newest, tmp_path) as start:
        yield start


def test_killed_export_is_continued_verified_and_imported(
    kafka_newest: KafkaCluster, azure: AzureServer, drive: Drive
) -> None:
    url, topic = azure.url("whole"), filled_topic(kafka_newest)
    first = drive("export", topic, "--to", url, *SMALL)
    kill_after_a_round(first, url)
    said = first.said() + continue_and_copy_back(drive, kafka_newest, topic, url)
    found = seen_by_others(azure.files(), f"{CONTAINER}/whole/{topic}")
    assert found == on_topic(kafka_newest.client_properties(), topic)
    assert KEY not in said


def test_of_two_runs_at_once_one_commits_and_the_other_is_named(azure: AzureServer) -> None:
    assert_one_of_two_runs_commits(azure.url("two"))
