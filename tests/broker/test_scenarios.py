"""The scenarios of the sandbox on Kafka 4.3.1, 3.9.1 and 2.8.2, over PLAINTEXT, SSL and SASL_SSL."""

from collections.abc import Callable, Mapping
from pathlib import Path

import pytest

from tests.support.kafka.cluster import KafkaCluster
from tests.support.scenarios.command_line import groups, produce_consume_probe
from tests.support.scenarios.library import EVERY_SCENARIO

WAYS_IN = (
    pytest.param(("PLAINTEXT", None), marks=pytest.mark.nightly),
    pytest.param(("SSL", None), marks=pytest.mark.nightly),
    ("SASL_SSL", "SCRAM-SHA-512"),
)


@pytest.fixture(scope="module", params=WAYS_IN, ids=lambda way: "-".join(filter(None, way)))
def properties(request: pytest.FixtureRequest, any_kafka: KafkaCluster) -> Mapping[str, str]:
    return any_kafka.client_properties(*request.param)


@pytest.mark.parametrize("scenario", EVERY_SCENARIO, ids=lambda scenario: scenario.__name__)
def test_library(scenario: Callable[[Mapping[str, str]], None], properties: Mapping[str, str]) -> None:
    scenario(properties)


def test_command_line(properties: Mapping[str, str], tmp_path: Path) -> None:
    produce_consume_probe(properties, tmp_path)


def test_groups_on_the_command_line(properties: Mapping[str, str], tmp_path: Path) -> None:
    groups(properties, tmp_path)


@pytest.mark.parametrize("scenario", EVERY_SCENARIO, ids=lambda scenario: scenario.__name__)
def test_three_nodes(scenario: Callable[[Mapping[str, str]], None], kafka_three: KafkaCluster) -> None:
    scenario(kafka_three.client_properties())
