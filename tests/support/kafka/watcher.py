"""A program that outlives the tests by a moment and removes what they left behind.

Its standard input is a pipe from the test process: lines `watch group N`, `forget group N`, `watch folder PATH`,
`forget folder PATH`. When the pipe ends, which the system sees to even after SIGKILL, it kills the process groups still
watched and removes the folders. It imports nothing of the project.
"""

import os
import shutil
import signal
import sys
import threading

GONE_WITHIN_S = 5.0
INTERVAL_S = 0.05


def main() -> None:
    """Read until the pipe ends, then clean up."""
    watched: dict[tuple[str, str], None] = {}
    for line in sys.stdin:
        verb, kind, name = line.rstrip("\n").split(" ", 2)
        if verb == "watch":
            watched[kind, name] = None
        else:
            watched.pop((kind, name), None)
    groups = [int(name) for kind, name in watched if kind == "group"]
    for group in groups:
        _kill(group)
    _wait_gone(groups)
    for kind, name in watched:
        if kind == "folder":
            shutil.rmtree(name, ignore_errors=True)


def _kill(group: int) -> None:
    try:
        os.killpg(group, signal.SIGKILL)
    except ProcessLookupError:
        return  # it ended by itself


def _wait_gone(groups: list[int]) -> None:
    """Wait, within a bound, until no member is left that could still write into a folder."""
    pause = threading.Event()
    for _ in range(int(GONE_WITHIN_S / INTERVAL_S)):
        if not any(_is_alive(group) for group in groups):
            return
        pause.wait(INTERVAL_S)


def _is_alive(group: int) -> bool:
    """True while the leader of the group runs; one that is dead but not yet reaped by its parent does not count."""
    try:
        os.killpg(group, 0)
        with open(f"/proc/{group}/stat") as stat:
            return stat.read().rpartition(")")[2].split()[0] != "Z"
    except (ProcessLookupError, FileNotFoundError):
        return False


if __name__ == "__main__":
    main()
