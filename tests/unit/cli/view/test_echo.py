"""Echo of a terminal: off and on again, also when a command leaves at once; untouched where it is off already."""

import io
import os
import pty
import termios
from collections.abc import Iterator
from typing import TextIO

import pytest

from kctl.cli.environment import ClosingNotice
from kctl.cli.view.echo import Echo


@pytest.fixture
def terminal(monkeypatch: pytest.MonkeyPatch) -> Iterator[TextIO]:
    """A terminal whose foreground process this one is."""
    ours, theirs = pty.openpty()
    monkeypatch.setattr(os, "tcgetpgrp", lambda _: os.getpgrp())
    with os.fdopen(theirs, "w") as stream:
        yield stream
    os.close(ours)


def is_on(stream: TextIO) -> bool:
    return bool(termios.tcgetattr(stream.fileno())[3] & termios.ECHO)


def test_echo_is_off_until_it_is_switched_on_again(terminal: TextIO) -> None:
    notice = ClosingNotice()
    switched = Echo(terminal, notice)
    before = termios.tcgetattr(terminal.fileno())
    switched.off()
    switched.off()
    assert not is_on(terminal)
    switched.on()
    assert termios.tcgetattr(terminal.fileno()) == before
    assert notice.restore is None


def test_command_that_leaves_at_once_restores_the_echo(terminal: TextIO) -> None:
    notice = ClosingNotice()
    Echo(terminal, notice).off()
    assert notice.restore is not None
    notice.restore()
    assert is_on(terminal)


def test_echo_that_another_process_has_switched_off_stays_off(terminal: TextIO) -> None:
    first, second = Echo(terminal, ClosingNotice()), Echo(terminal, ClosingNotice())
    first.off()
    second.off()
    second.on()
    assert not is_on(terminal)
    first.on()
    assert is_on(terminal)


def test_background_process_changes_no_terminal(terminal: TextIO, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "tcgetpgrp", lambda _: os.getpgrp() + 1)
    Echo(terminal, ClosingNotice()).off()
    assert is_on(terminal)


def test_stream_in_memory_has_no_echo() -> None:
    switched = Echo(io.StringIO(), ClosingNotice())
    switched.off()
    switched.on()
