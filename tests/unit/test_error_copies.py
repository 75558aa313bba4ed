"""Every error can be compared, copied and pickled, and comes back with type, message, attributes and cause."""

import copy
import inspect
import pickle
import threading

import pytest

from kctl.client import broker_errors, errors
from kctl.client.broker_errors import ErrorCode, broker_error
from kctl.client.errors import ApiTimeout, ConnectionRefused, KafkaError
from tests.unit.error_samples import error_classes, every_error


def described(error: BaseException | None) -> object:
    """Return all that an error is made of, as plain values; its classes by identity."""
    if error is None:
        return None
    state = {
        name: described(value) if isinstance(value, BaseException) else value for name, value in vars(error).items()
    }
    return type(error), str(error), error.args, state, described(error.__cause__), error.__suppress_context__


def test_samples_cover_every_class() -> None:
    kinds = error_classes()
    declared = {kind for _, kind in inspect.getmembers(errors, inspect.isclass) if issubclass(kind, KafkaError)}
    assert declared <= set(kinds)
    assert set(broker_errors.BY_CODE.values()) <= set(kinds)
    assert [type(error) for error in every_error()] == kinds


@pytest.mark.parametrize("protocol", range(pickle.HIGHEST_PROTOCOL + 1))
def test_error_pickled_with_any_protocol_comes_back_equal(protocol: int) -> None:
    for error in every_error():
        back = pickle.loads(pickle.dumps(error, protocol))
        assert described(back) == described(error)
        assert back == error
        assert hash(back) == hash(error)


def test_error_copied_comes_back_equal() -> None:
    for error in every_error():
        for back in (copy.copy(error), copy.deepcopy(error)):
            assert back is not error
            assert described(back) == described(error)


def test_error_without_traceback_is_equal_and_has_the_same_cause() -> None:
    for error in every_error():
        error.__cause__ = ValueError(threading.Lock())
        with pytest.raises(KafkaError):
            raise error
        other = error.without_traceback()
        assert other is not error
        assert other.__traceback__ is None
        assert described(other) == described(error)
        assert other.__cause__ is error.__cause__


def test_unknown_broker_code_keeps_code_and_name() -> None:
    back = pickle.loads(pickle.dumps(broker_error(4711, "fetch t-0", "no")))
    assert (back.code, back.name, back.text, back.retriable) == (4711, "ERROR_4711", "no", False)


def test_error_with_unpicklable_foreign_cause_travels_without_it() -> None:
    error = broker_error(ErrorCode.NOT_COORDINATOR, "commit the offset of t-0 for group g")
    error.__cause__ = ValueError(threading.Lock())
    back = pickle.loads(pickle.dumps(error))
    assert back == error
    assert back.__cause__ is None


def test_chain_of_causes_travels_whole() -> None:
    first, second, third = ConnectionRefused("first"), errors.CommitFailedError("second"), errors.ConfigError("third")
    third.__cause__, second.__cause__ = second, first
    back = pickle.loads(pickle.dumps(third))
    assert described(back) == described(third)
    assert isinstance(back.__cause__.__cause__, ConnectionRefused)


def test_errors_differ_when_type_message_or_attributes_differ() -> None:
    error = ApiTimeout("waiting", timeout_ms=5, elapsed_ms=6)
    assert error == ApiTimeout("waiting", timeout_ms=5, elapsed_ms=6)
    assert error != ApiTimeout("waiting", timeout_ms=5, elapsed_ms=6, cause=ConnectionRefused("x"))
    assert error != ApiTimeout("waiting", timeout_ms=5, elapsed_ms=7)
    assert error != errors.RequestTimeout("waiting", timeout_ms=5, elapsed_ms=6)
    assert errors.ConfigError("a", key="acks") != errors.ConfigError("a", key="linger.ms")
    assert error != "waiting"
