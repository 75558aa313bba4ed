"""Errors of tasks come to the driver whole."""

import pickle

import pytest

from kctl.client import errors
from kctl.client.broker_errors import ErrorCode, broker_error
from kctl.client.errors import Account, ApiTimeout, KafkaError
from kctl.pipeline.job_errors import ExportDataError, FolderError, SparkSetUpError, carry, restore


def _lost() -> errors.ConnectTimeout:
    lost = errors.ConnectTimeout("no answer", limit_ms=10, elapsed_ms=11)
    lost.host, lost.port, lost.phase = "broker", 9092, "tcp"
    return lost


@pytest.mark.parametrize(
    "error",
    [
        errors.ConfigError("acks takes all", key="acks"),
        broker_error(ErrorCode.NOT_CONTROLLER, "CreateTopics", "the broker's words"),
        broker_error(12_345, "Fetch"),
        ApiTimeout(
            "fetching t-0",
            timeout_ms=5,
            elapsed_ms=6,
            cause=_lost(),
            account=Account(("dns 1 ms",), 3, (_lost(), broker_error(ErrorCode.NOT_CONTROLLER, "x"))),
        ),
        errors.InvalidOffsetError("none", partitions=(("t", 0),)),
        FolderError("/x: full", "make room"),
        ExportDataError("gone"),
    ],
    ids=lambda error: type(error).__name__,
)
def test_an_error_comes_back_as_it_was(error: KafkaError) -> None:
    back = restore(pickle.loads(pickle.dumps(carry(error))))
    assert (type(back), str(back)) == (type(error), str(error))
    assert _plain(back) == _plain(error)


def _plain(value: object) -> object:
    if isinstance(value, KafkaError):
        return type(value), str(value), {name: _plain(each) for name, each in vars(value).items()}
    if isinstance(value, tuple):
        return tuple(_plain(each) for each in value)
    return value


def test_a_class_that_is_not_known_here_is_a_kafka_error() -> None:
    """As when the workers have a newer kctl."""
    carried = carry(SparkSetUpError("text"))._replace(kind="ErrorOfTheFuture")
    assert (type(restore(carried)), str(restore(carried))) == (KafkaError, "text")


def test_an_error_of_another_module_comes_as_what_it_is_a_kind_of() -> None:
    class PartlyDone(errors.UndeliveredError):
        pass

    back = restore(carry(PartlyDone(3, _lost())))
    assert type(back) is errors.UndeliveredError
    assert (back.undelivered, type(back.cause)) == (3, errors.ConnectTimeout)
