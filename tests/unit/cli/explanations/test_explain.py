"""`kctl explain`: everything that has a name finds its page, and so does what kctl says of each fault."""

import pytest

from kctl.cli.exit_codes import ExitCode
from kctl.cli.explanations.faults import FAULTS
from kctl.cli.explanations.lookup import ERROR_CLASSES, find_page
from kctl.cli.settings import KNOWN
from kctl.client.broker_errors import ErrorCode, error_class
from tests.unit.cli.run_in_process import run_in_process


def _first_line(text: str) -> str:
    page = find_page(text)
    assert page is not None, text
    return page[0]


def test_each_exit_code_by_number_and_name() -> None:
    for code in ExitCode:
        for text in (str(int(code)), f"exit {int(code)}", code.name, code.name.lower().replace("_", "-")):
            assert _first_line(text) == f"exit code {int(code)} ({code.name}): {code.text}"


def test_each_error_class() -> None:
    for name, kind in ERROR_CLASSES.items():
        page = find_page(name)
        assert page is not None
        assert page[0] == f"error {name}"
        assert page[2], "its docstring"
        assert page[-1].startswith("exit code: ")
        assert ("tried again by itself:  yes" in page) == kind.retriable


def test_each_broker_error_by_name_class_and_number() -> None:
    for error in ErrorCode:
        if error.name in ExitCode.__members__:
            continue
        by_class = error_class(error).__name__
        for text in (error.name, f"error {int(error)}", *([by_class] if by_class not in ERROR_CLASSES else [])):
            assert _first_line(text) == f"broker error {int(error)} ({error.name})"


def test_a_number_that_is_both_names_the_other() -> None:
    page = find_page("3")
    assert page is not None
    assert page[0].startswith("exit code 3 ")
    assert page[-1] == "As an error code of a broker it is UNKNOWN_TOPIC_OR_PARTITION: " + (
        "kctl explain UNKNOWN_TOPIC_OR_PARTITION"
    )


def test_each_property_and_limit() -> None:
    for name in KNOWN:
        assert name in _first_line(name) or name == "connections.timeout.ms"
    assert _first_line("--connect-timeout").startswith("limit socket.connection.setup.timeout.ms (--connect-timeout)")


def test_each_fault_by_its_number() -> None:
    for number, fault in FAULTS.items():
        assert _first_line(f"fault {number}") == _first_line(f"#{number}") == f"fault {number}: {fault.title}"


@pytest.mark.parametrize(
    ("text", "number"),
    [
        ("kctl: 127.0.0.1:9092: connection refused (RST after 3 ms) [phase tcp]", 5),
        ("no SYN-ACK in 2001 ms of 2000 ms (--connect-timeout) [phase tcp]", 7),
        ("bootstrap ok; broker 1 advertises 127.0.0.1:19092: connection refused (RST after 0 ms) [phase tcp]", 30),
        ("the resolver does not answer", 2),
        ("certificate expired", 19),
    ],
)
def test_free_text_finds_the_fault(text: str, number: int) -> None:
    assert _first_line(text).startswith(f"fault {number}: ")


@pytest.mark.parametrize("text", ["zzzz", "0.5", "fault 99", "99999", "x" * 5000, "(((", "\x1b[2J"])
def test_what_means_nothing_is_refused_with_what_is_near(text: str) -> None:
    assert find_page(text) is None
    ended = run_in_process("explain", text)
    assert (ended.code, ended.stdout) == (ExitCode.USAGE, b"")
    assert "nothing is known about" in ended.stderr
    assert "\x1b" not in ended.stderr


def test_the_nearest_names_are_offered() -> None:
    assert "nearest: ConnectTimeout" in run_in_process("explain", "ConectTimeot").stderr


def test_the_command() -> None:
    listed = run_in_process("explain")
    assert listed.code == 0
    assert all(code.text in listed.stdout.decode() for code in ExitCode)
    assert b"fault 7:" in run_in_process("explain", "fault", "7").stdout
    assert b"limit request.timeout.ms" in run_in_process("explain", "--request-timeout").stdout
