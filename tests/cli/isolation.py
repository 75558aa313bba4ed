"""Checks of a command that runs inside the test's process: it ends within a bound, and leaves nothing behind."""

import faulthandler
import gc
import logging
import os
import resource
import signal
import socket
import sys
import threading
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from traceback import StackSummary, walk_stack
from types import FrameType
from weakref import WeakKeyDictionary

import kctl.cli.options  # noqa: F401 - gives loggers a handler when it is imported

ENDING_S = 10
"""How long a thread may take to end after the command: a name that is looked up cannot be interrupted."""
_FRAMES = 20
_OF_SERVERS = "(process_request_thread)"
"""In the names of threads with which an HTTP server of a test serves a connection until its client closes it."""
_HUNG = signal.SIGUSR1
_WATCHED = signal.valid_signals() - {_HUNG, signal.SIGALRM}
"""kctl/cli/alarms.py keeps the handler of SIGALRM, which acts only if a timer is left: that is checked."""


class Hung(BaseException):
    """The command did not end; not an Exception, so that no handler of errors takes it."""


@contextmanager
def isolated(bound_s: float) -> Iterator[None]:
    """Run the body, a command, in the main thread.

    Raises:
        Hung: the body has not ended within the bound.
        AssertionError: it left a thread, a socket, a signal handler or other state of the process.
    """
    before = _state()
    on_alarm = signal.getsignal(signal.SIGALRM)
    with _bounded(bound_s), _no_sockets_left(), _no_threads_left():
        yield
    after = _state()
    signal.signal(signal.SIGALRM, on_alarm)
    assert after == before, {name: (before[name], after[name]) for name in before if before[name] != after[name]}


@contextmanager
def _bounded(bound_s: float) -> Iterator[None]:
    """Interrupt the body at the bound, wherever it waits, and show where that is."""

    def interrupt(_number: int, _frame: FrameType | None) -> None:
        faulthandler.dump_traceback(2)  # sys.stderr is the command's
        raise Hung(f"the command did not end within {bound_s:g} s")

    handler = signal.signal(_HUNG, interrupt)
    guard = threading.Timer(bound_s, signal.pthread_kill, (threading.get_ident(), _HUNG))
    guard.daemon = True
    guard.start()
    try:
        yield
    finally:
        guard.cancel()
        guard.join()
        signal.signal(_HUNG, handler)


@contextmanager
def _no_threads_left() -> Iterator[None]:
    before = set(threading.enumerate())
    yield
    for thread in set(threading.enumerate()) - before:
        if _OF_SERVERS in thread.name or thread.ident is None:  # being started by a server of the test
            continue
        thread.join(ENDING_S)
        assert not thread.is_alive(), f"the command left {thread} behind"


@contextmanager
def _no_sockets_left() -> Iterator[None]:
    """Note which sockets the body and its threads make: servers of the test make their own in other threads."""
    others = {thread.ident for thread in threading.enumerate()} - {threading.get_ident()}
    made: WeakKeyDictionary[socket.socket, StackSummary] = WeakKeyDictionary()
    make = socket.socket.__init__

    def noted(self: socket.socket, *given: object, **named: object) -> None:
        make(self, *given, **named)  # type: ignore[arg-type]
        if threading.get_ident() not in others:
            made[self] = StackSummary.extract(walk_stack(None), limit=_FRAMES, lookup_lines=False)

    socket.socket.__init__ = noted  # type: ignore[method-assign]
    try:
        yield
    finally:
        socket.socket.__init__ = make  # type: ignore[method-assign]
    for each, stack in made.items():
        assert each.fileno() == -1, f"the command left {each} open, made in\n{''.join(reversed(stack.format()))}"


def _state() -> dict[str, object]:
    """Return what one command could change for a later test."""
    loggers = {"": logging.getLogger(), **logging.Logger.manager.loggerDict}
    return {
        "signals": {number: signal.getsignal(number) for number in _WATCHED},
        "timers": [signal.getitimer(each) for each in (signal.ITIMER_REAL, signal.ITIMER_VIRTUAL, signal.ITIMER_PROF)],
        "folder": os.getcwd(),
        "environ": dict(os.environ),
        "limits": resource.getrlimit(resource.RLIMIT_NOFILE),
        "collector": (gc.isenabled(), gc.get_threshold(), gc.get_debug()),
        "warnings": list(warnings.filters),
        "logging": {
            name: (logger.level, logger.disabled, logger.propagate, list(logger.handlers))
            for name, logger in loggers.items()
            if isinstance(logger, logging.Logger)
            and (logger.level or logger.disabled or logger.handlers or not logger.propagate)
        },
        "hooks": (sys.excepthook, sys.unraisablehook, threading.excepthook, sys.stdin, sys.stdout, sys.stderr),
        "paths": list(sys.path),
        "socket": socket.getdefaulttimeout(),
    }
