"""What the source of a query ended with comes back as an error with its class and exit code."""

import pytest

from kctl.cli.exit_codes import ExitCode
from kctl.cli.failures import exit_code
from kctl.client.broker_errors import ErrorCode, UnknownBrokerError, broker_error
from kctl.client.errors import AuthorizationError, BrokerError, ConfigError, InvalidOffsetError, KafkaError
from kctl.pipeline.job_errors import StoreMissingError, StreamSourceError
from kctl.pipeline.source.failures import source_error, source_failure
from tests.unit.error_samples import every_error


@pytest.mark.parametrize(
    ("error", "code"),
    [
        (ConfigError("group g has active members"), ExitCode.USAGE),
        (InvalidOffsetError("records are gone"), exit_code(InvalidOffsetError("x"))),
        (broker_error(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, "Metadata"), ExitCode.UNKNOWN_RESOURCE),
        (StoreMissingError("no bucket"), ExitCode.UNKNOWN_RESOURCE),
    ],
)
def test_source_failure_has_the_class_and_the_code_of_the_error(error: KafkaError, code: ExitCode) -> None:
    found = source_failure(RuntimeError(f"[STREAM_FAILED] something\n{source_error(error)}\nat org.apache"))
    assert found is not None
    assert str(found) == str(error)
    assert found.kind is error.kind
    assert exit_code(found) is code


def test_source_failure_knows_every_class_that_a_plan_can_raise() -> None:
    names = {"kctl.client.errors", "kctl.client.broker_errors", "kctl.pipeline.job_errors", "kctl.serdes.errors"}
    seen = 0
    for error in every_error():
        kind = type(error)
        if kind.__module__ not in names or kind in (AuthorizationError, BrokerError, UnknownBrokerError):
            continue
        found = source_failure(source_error(error))
        assert found is not None
        assert found.kind is kind.kind
        seen += 1
        if getattr(error, "cause", None) is None and not isinstance(error, StreamSourceError):
            assert exit_code(found) is exit_code(error)
    assert seen > 100


def test_other_failures_of_spark_are_left() -> None:
    assert source_failure(RuntimeError("java.lang.OutOfMemoryError")) is None
