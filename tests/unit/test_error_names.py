"""Broker errors are importable classes, and pages and docstrings name only errors that exist."""

import ast
import builtins
import re
from functools import cache

import pytest

from kctl.client import broker_errors, errors
from kctl.client.broker_errors import (
    AUTHORIZATION_FAILED,
    ErrorCode,
    FencedInstanceIdError,
    TopicAuthorizationFailedError,
    broker_error,
)
from tests.unit.error_samples import error_classes
from tests.unit.source_trees import ROOT, nodes

NAME = re.compile(r"(?<![\w.])(?:errors\.)?([A-Z][a-z]\w*?(?:Error|Timeout))s?\b(?!\.)")


@cache
def documented_names() -> dict[str, list[str]]:
    """Return the names of error classes in pages and docstrings, each with where it stands."""
    texts = [(page, page.read_text()) for page in (*ROOT.glob("docs/**/*.md"), ROOT / "README.md")]
    for file, module in nodes().items():
        for node in module if ROOT / "kctl" / "client" in file.parents else ():
            if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef):
                texts.append((file, ast.get_docstring(node) or ""))
    found: dict[str, list[str]] = {}
    for file, text in texts:
        for name in NAME.findall(text):
            found.setdefault(name, []).append(str(file.relative_to(ROOT)))
    return found


def test_every_error_named_in_docs_and_docstrings_exists() -> None:
    elsewhere = {kind.__name__ for kind in error_classes()}
    internal = {"DecompressionError", "FieldError", "JsonFormError"}
    """No KafkaErrors: the package of records turns two into those of the client, and one is a ValueError."""
    unknown = {
        name: sorted(set(places))
        for name, places in documented_names().items()
        if not (hasattr(errors, name) or hasattr(builtins, name) or name in elsewhere or name in internal)
    }
    assert unknown == {}


def test_consumer_page_names_broker_errors() -> None:
    names = documented_names()
    for name in ("TopicAuthorizationFailedError", "GroupAuthorizationFailedError", "FencedInstanceIdError"):
        assert "docs/consumer.md" in names[name]


def test_every_code_is_caught_by_its_class() -> None:
    for code in ErrorCode:
        if code is ErrorCode.NONE:
            continue
        kind = broker_errors.BY_CODE[code]
        with pytest.raises(getattr(broker_errors, kind.__name__)) as caught:
            raise broker_error(code, "fetch t-0")
        assert (caught.value.code, caught.value.name, caught.value.retriable) == (code, code.name, code.retriable)
        assert kind.__doc__ == code.text


def test_authorization_errors_have_one_base() -> None:
    for code in ErrorCode:
        is_forbidden = isinstance(broker_error(code, "x"), errors.AuthorizationError)
        assert is_forbidden == (code in AUTHORIZATION_FAILED), code.name


def test_unsupported_version_of_a_broker_is_caught_as_unsupported_version() -> None:
    with pytest.raises(errors.UnsupportedVersionError) as caught:
        raise broker_error(ErrorCode.UNSUPPORTED_VERSION, "fetch t-0")
    assert isinstance(caught.value, errors.BrokerError)
    assert caught.value.api is None


def test_types_are_known() -> None:
    """mypy checks these lines: a class that it does not know would fail `make types`."""
    kind: type[errors.BrokerError] = FencedInstanceIdError
    forbidden: type[errors.AuthorizationError] = TopicAuthorizationFailedError
    assert kind.code == 82
    assert forbidden.retriable is False
