"""The programs in examples/ on Kafka."""

from collections.abc import Callable
from pathlib import Path

import pytest

from tests.support.example_runs import Place, in_every_run
from tests.support.kafka.cluster import KafkaCluster


@pytest.mark.nightly
@in_every_run
def test_example_runs_on_kafka(run: Callable[[Place], None], kafka_newest: KafkaCluster, tmp_path: Path) -> None:
    run(Place(kafka_newest.bootstrap(), f"{kafka_newest.create_topic()}-{run.__name__[:40]}", tmp_path))
