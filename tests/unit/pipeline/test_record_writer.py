"""The time limits of a writer's producer: those of the user, whichever of them are given."""

import pytest

from kctl.client.config import ProducerConfig
from kctl.client.errors import ConfigError
from kctl.pipeline.record_writer import writing_properties

SERVER = {"bootstrap.servers": "127.0.0.1:9092"}


@pytest.mark.parametrize(("given", "request_timeout_ms", "delivery_timeout_ms"), [
    ({"max.block.ms": 10_000}, 30_000, 10_000),
    ({"max.block.ms": 10_000, "linger.ms": 5}, 9_995, 10_000),
    ({"max.block.ms": 10_000, "linger.ms": 5, "request.timeout.ms": 20_000}, 20_000, 20_005),
    ({"max.block.ms": 10_000, "linger.ms": 5, "delivery.timeout.ms": 90_000}, 30_000, 90_000),
    ({"max.block.ms": 60_000, "linger.ms": 5}, 30_000, 60_000),
])  # fmt: skip
def test_timeout_of_a_call_holds_for_each_record_unless_another_is_given(
    given: dict[str, int], request_timeout_ms: int, delivery_timeout_ms: int
) -> None:
    config = ProducerConfig.parse(writing_properties({**SERVER, **given}))
    assert (config.request_timeout_ms, config.delivery_timeout_ms) == (request_timeout_ms, delivery_timeout_ms)


def test_linger_that_leaves_no_time_is_refused_by_name() -> None:
    with pytest.raises(ConfigError, match=r"^linger\.ms=5000 must be less than the timeout of 1000ms$"):
        writing_properties({**SERVER, "max.block.ms": 1000, "linger.ms": 5000})
