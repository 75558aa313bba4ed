"""Pytest plugin: the fixture `kafka` and its marker. The first test that needs a cluster imports it."""

from collections.abc import Iterator
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from kctl.testing.kafka_sandbox import KafkaSandbox


def pytest_configure(config: pytest.Config) -> None:
    """Register the marker `kafka`."""
    config.addinivalue_line("markers", "kafka(...): arguments of KafkaSandbox for the fixture kafka")


@pytest.fixture
def kafka(request: pytest.FixtureRequest) -> "Iterator[KafkaSandbox]":
    """A new Kafka cluster for the test; `@pytest.mark.kafka(brokers=1, topics={"orders": 3})` configures it."""
    from kctl.testing.kafka_sandbox import KafkaSandbox

    marker = request.node.get_closest_marker("kafka")
    with KafkaSandbox(*(marker.args if marker else ()), **(marker.kwargs if marker else {})) as sandbox:
        yield sandbox
