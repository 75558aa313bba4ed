"""What a command may do to its streams."""

import io
import os
from collections.abc import Mapping

import pytest

from kctl.cli.environment import ClosingNotice, Environment, Secrets, WaitingInput, system_environment
from kctl.client.clock import ManualClock


def _environment(environ: Mapping[str, str], *, stdout_is_tty: bool) -> Environment:
    return Environment(
        io.BytesIO(),
        io.BytesIO(),
        io.StringIO(),
        environ,
        ManualClock(),
        stdout_is_tty=stdout_is_tty,
        closing_notice=ClosingNotice(),
        secrets=Secrets(),
    )


@pytest.mark.parametrize(
    ("environ", "is_tty", "colour", "redraw"),
    [
        ({}, True, True, True),
        ({}, False, False, False),
        ({"NO_COLOR": "1"}, True, False, True),
        ({"NO_COLOR": ""}, True, True, True),
        ({"TERM": "dumb"}, True, False, False),
        ({"TERM": "unknown"}, True, False, False),
        ({"TERM": ""}, True, False, False),
        ({"TERM": "xterm"}, True, True, True),
    ],
)
def test_colour_and_redrawing(environ: dict[str, str], is_tty: bool, colour: bool, redraw: bool) -> None:
    environment = _environment(environ, stdout_is_tty=is_tty)
    assert (environment.colour, environment.can_redraw) == (colour, redraw)


@pytest.mark.parametrize(("term", "is_dumb"), [(None, True), ("", True), ("dumb", True), ("xterm-256color", False)])
def test_process_without_term_has_a_dumb_terminal(
    term: str | None, is_dumb: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("TERM", raising=False)
    if term is not None:
        monkeypatch.setenv("TERM", term)
    assert system_environment().is_dumb == is_dumb


def test_a_terminal_of_unknown_size_has_one_all_the_same() -> None:
    assert _environment({}, stdout_is_tty=True)._replace(columns=66).size() == (66, 24)


def test_people_are_told_on_stderr() -> None:
    environment = _environment({}, stdout_is_tty=False)
    environment.say("a line")
    assert isinstance(environment.stderr, io.StringIO)
    assert environment.stderr.getvalue() == "a line\n"


def test_secrets_are_masked_in_all_that_is_said() -> None:
    environment = _environment({}, stdout_is_tty=False)._replace(secrets=Secrets())
    environment.secrets.values = ("s3cret", "")
    environment.say("refused: |u|s3cret and again s3cret")
    assert environment.stderr.getvalue() == "refused: |u|*** and again ***\n"  # type: ignore[attr-defined]


def test_a_non_blocking_pipe_without_data_has_not_ended(monkeypatch: pytest.MonkeyPatch) -> None:
    read_end, write_end = os.pipe()
    os.set_blocking(read_end, False)
    left = [b"one\n", b"two\n"]

    def send_or_close(*_: object) -> None:
        if left:
            os.write(write_end, left.pop(0))
        else:
            os.close(write_end)

    monkeypatch.setattr("kctl.cli.environment.select.select", send_or_close)
    try:
        stdin = io.BufferedReader(WaitingInput(read_end))
        assert stdin.read1(10) == b"one\n"
        assert stdin.readline() == b"two\n"
        assert stdin.read() == b""
    finally:
        os.close(read_end)
