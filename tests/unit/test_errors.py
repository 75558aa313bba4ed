"""Error classes: `retriable` of subclasses, and the messages of timeouts."""

import ast
import re

from kctl.client.clock import FOREVER_MS
from kctl.client.errors import ApiTimeout, ConnectionRefused, KafkaError, KafkaTimeoutError, RequestTimeout
from tests.unit.error_samples import error_classes, every_error
from tests.unit.source_trees import ROOT, nodes

HAS_DOCSTRING = (ast.Module, ast.ClassDef, ast.FunctionDef)
OPTION = re.compile(r"(?<![\w-])--[a-z][a-z-]+")


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
        "timed out after 101ms (default.api.timeout.ms 100ms) while waiting for x; last error: timed out after 1ms"
    )


def test_a_call_without_a_limit_names_none() -> None:
    error = ApiTimeout("waiting for x", timeout_ms=FOREVER_MS, elapsed_ms=4000)
    assert str(error) == "timed out after 4s while waiting for x"


def test_timeouts_name_the_limit_of_the_library() -> None:
    timeouts = [each for each in every_error() if isinstance(each, KafkaTimeoutError)]
    assert {each.limit for each in timeouts} >= {"max.block.ms", "delivery.timeout.ms", "close(timeout)"}
    assert [each for each in timeouts if f"({each.limit} 3ms)" not in each.summary] == []


def test_texts_of_the_library_name_no_option_of_the_command_line() -> None:
    found = []
    for path, module in nodes().items():
        if ROOT / "kctl" / "client" not in path.parents:
            continue
        named = {ast.get_docstring(node, clean=False) for node in module if isinstance(node, HAS_DOCSTRING)}
        for node in module:
            if not isinstance(node, ast.Constant) or not isinstance(node.value, str) or node.value in named:
                continue
            if "kctl " not in node.value:  # a command to run is the same for users of the library
                found += [f"{path.name}:{node.lineno}: {option}" for option in OPTION.findall(node.value)]
    assert found == []


def test_timeout_has_each_cause_once() -> None:
    cause = ConnectionRefused("a:1: connection refused")
    late = ApiTimeout(f"waiting for a: {cause}", timeout_ms=1, elapsed_ms=1, cause=cause)
    assert str(late).count("connection refused") == 1
    other = ApiTimeout("waiting for a", timeout_ms=1, elapsed_ms=1, cause=cause)
    assert str(other).endswith("; last error: a:1: connection refused")
