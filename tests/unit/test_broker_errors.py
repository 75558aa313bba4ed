"""The table of broker error codes, and the errors made from it."""

import re

import pytest

from kctl.client.broker_errors import ErrorCode, broker_error, error_class
from kctl.client.errors import BrokerError


def test_codes_run_without_a_gap() -> None:
    assert [int(code) for code in ErrorCode] == list(range(-1, 134))


def test_every_text_is_a_sentence_that_fits_a_line() -> None:
    for code in ErrorCode:
        assert code.text.endswith("."), code.name
        assert 5 < len(code.text) <= 100, code.name


def test_texts_have_american_spelling_as_in_kafka() -> None:
    british = re.compile(r"(author|recogn|initial|synchron|organ|serial)is|[bv]iour|colour|licence", re.I)
    assert [code.text for code in ErrorCode if british.search(code.text)] == []


def test_every_code_has_a_class_of_its_own() -> None:
    names = [error_class(code).__name__ for code in ErrorCode]
    assert len(dict.fromkeys(names)) == len(ErrorCode)
    assert all(name.endswith("Error") for name in names)


def test_an_error_names_what_was_asked_and_what_came_back() -> None:
    error = broker_error(16, "commit offsets of group g on broker 2")
    assert type(error) is error_class(16)
    assert (error.code, error.name, error.retriable, error.text) == (16, "NOT_COORDINATOR", True, None)
    assert str(error) == (
        "cannot commit offsets of group g on broker 2: the broker is not the coordinator (NOT_COORDINATOR)"
    )


def test_the_brokers_own_words_replace_ours() -> None:
    error = broker_error(44, "create topic t", "at most 3 partitions.")
    assert str(error) == "cannot create topic t: at most 3 partitions (POLICY_VIOLATION)"
    assert error.text == "at most 3 partitions."


def test_a_code_newer_than_the_table_keeps_its_number_and_is_not_retried() -> None:
    error = broker_error(4711, "fetch")
    assert isinstance(error, BrokerError)
    assert (error.code, error.name, error.retriable) == (4711, "ERROR_4711", False)


def test_a_class_can_be_caught() -> None:
    with pytest.raises(error_class(ErrorCode.NOT_CONTROLLER)):
        raise broker_error(41, "create topic t")


def test_the_words_of_a_broker_stay_on_their_line() -> None:
    error = broker_error(29, "produce to t-0", "denied\nkctl: all is well\x1b[2J")
    assert str(error) == "cannot produce to t-0: denied\\x0akctl: all is well\\x1b[2J (TOPIC_AUTHORIZATION_FAILED)"


def test_object_of_java_is_not_the_text_of_an_error() -> None:
    text = "Request Request(processor=8, connectionId=a, session=Session(User:a,/10.0.0.1))"
    error = broker_error(ErrorCode.CLUSTER_AUTHORIZATION_FAILED, "DescribeAcls", text)
    assert (error.text, "processor" in str(error)) == (None, False)
