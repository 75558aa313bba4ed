"""Error classes: `retriable` of subclasses, and the messages of timeouts."""

from kctl.client.clock import FOREVER_MS
from kctl.client.errors import ApiTimeout, KafkaError, RequestTimeout
from tests.unit.error_samples import error_classes


def test_no_subclass_is_retriable_where_its_base_class_is_declared_not_to_be() -> None:
    declared = [kind for kind in error_classes() if vars(kind).get("retriable") is False and kind is not KafkaError]
    broken = [
        (kind.__name__, base.__name__)
        for kind in error_classes()
        for base in declared
        if issubclass(kind, base) and kind.retriable
    ]
    assert len(declared) > 3
    assert broken == []


def test_a_limit_is_told_with_what_was_measured_and_awaited() -> None:
    error = ApiTimeout(
        "waiting for x", timeout_ms=100, elapsed_ms=101, cause=RequestTimeout("y", timeout_ms=1, elapsed_ms=1)
    )
    assert str(error).startswith(
        "timed out after 101ms (--api-timeout 100ms) while waiting for x; last error: timed out after 1ms"
    )


def test_a_call_without_a_limit_names_none() -> None:
    error = ApiTimeout("waiting for x", timeout_ms=FOREVER_MS, elapsed_ms=4000)
    assert str(error) == "timed out after 4s while waiting for x"
