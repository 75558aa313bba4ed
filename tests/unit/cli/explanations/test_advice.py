"""Advice belongs to the error, not to its exit code; a page of a finding has an example without placeholders."""

import re

import pytest

from kctl.cli.explanations.advice import BROKER_ADVICE, CLASS_ADVICE
from kctl.cli.explanations.broker_causes import BROKER_CAUSES
from kctl.cli.explanations.code_pages import broker_page, class_page
from kctl.cli.explanations.exit_codes import CODE_PAGES
from kctl.cli.explanations.finding_examples import example_of, finding_page
from kctl.cli.explanations.lookup import ERROR_CLASSES
from kctl.client.broker_errors import ErrorCode
from kctl.why.table import FINDINGS

OF_CODES = {line for page in CODE_PAGES.values() for line in page.try_}


def test_each_broker_error_has_advice_in_one_place() -> None:
    assert set(BROKER_ADVICE) | set(BROKER_CAUSES) == {error.name for error in ErrorCode} - {"NONE"}
    assert set(BROKER_ADVICE).isdisjoint(BROKER_CAUSES)
    assert set(CLASS_ADVICE) == set(ERROR_CLASSES)


@pytest.mark.parametrize("error", [error for error in ErrorCode if error], ids=lambda error: error.name)
def test_advice_for_a_broker_error_is_not_that_of_its_exit_code(error: ErrorCode) -> None:
    page = broker_page(error)
    assert page.try_
    assert OF_CODES.isdisjoint(page.try_)


@pytest.mark.parametrize("name", sorted(ERROR_CLASSES))
def test_advice_for_an_error_class_is_not_that_of_its_exit_code(name: str) -> None:
    page = class_page(ERROR_CLASSES[name])
    assert page.try_
    assert OF_CODES.isdisjoint(page.try_)


@pytest.mark.parametrize("text", [*BROKER_ADVICE.values(), *CLASS_ADVICE.values()])
def test_advice_is_sentences(text: str) -> None:
    assert text[0].isupper()
    assert text.endswith(".") or "kctl " in text.rpartition(": ")[2] or "getent" in text, "a command has no full stop"


@pytest.mark.parametrize("name", sorted(FINDINGS))
def test_page_of_a_finding_has_an_example_with_values(name: str) -> None:
    example = example_of(FINDINGS[name])
    for text in (example.subject, example.sentence, example.show, example.cure):
        assert text
        assert "''" not in text
        assert re.search(r"[{}]|\b(WHERE|TEXT|HINT|REASON|GROUP|PARTITION|OFFSET|WHICH|FATE)\b", text) is None, text
    facts = dict(finding_page(FINDINGS[name]).facts)
    assert facts["example"] == example.sentence
