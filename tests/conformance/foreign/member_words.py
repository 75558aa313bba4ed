"""What a member of a group says on its standard output, for the members that are written in Python.

The lines are told in group_member.py. Owns what is read and not committed yet.
"""

import sys
from collections.abc import Callable, Iterable, Mapping
from threading import Event, Thread

from kctl.client.clock import SystemClock


class MemberWords:
    """Says what happens to one member.

    Args:
        commit: commits the next offset of each partition and returns when that is confirmed.
        failure: what it raises when it is not.
    """

    def __init__(self, commit: Callable[[Mapping[int, int]], object], failure: type[Exception]) -> None:
        self._commit = commit
        self._failure = failure
        self._uncommitted: dict[int, int] = {}
        self._clock = SystemClock()

    def read(self, partition: int, offset: int, value: bytes) -> None:
        _say("read", partition, offset, value.decode())
        self._uncommitted[partition] = offset + 1

    def commit(self) -> None:
        """Commit what was read; what fails is tried again with the next."""
        if not self._uncommitted:
            return
        try:
            self._commit(self._uncommitted)
        except self._failure as error:
            _say("uncommitted", str(error).replace("\n", " "))
            return
        _say("committed", *(f"{partition}={offset}" for partition, offset in self._uncommitted.items()))
        self._uncommitted.clear()

    def takes(self, partitions: Iterable[int]) -> None:
        self._report("takes", sorted(partitions))

    def gives(self, partitions: Iterable[int]) -> None:
        self.commit()
        self._report("gives", sorted(partitions))

    def loses(self, partitions: Iterable[int]) -> None:
        self._report("loses", sorted(partitions))

    def _report(self, what: str, partitions: list[int]) -> None:
        if partitions:
            _say(what, self._clock.now_ms(), *partitions)
        if what != "takes":
            for partition in partitions:
                self._uncommitted.pop(partition, None)


def _say(*words: object) -> None:
    print(*words, flush=True)  # noqa: T201  # the program's output


def run_member(be_member: Callable[[str, dict[str, str], Event], None]) -> None:
    """Do what the command line says, `TOPIC key=value...`, until standard input ends."""
    topic, *pairs = sys.argv[1:]
    ends = Event()

    def watch() -> None:
        sys.stdin.read()
        ends.set()

    Thread(target=watch, daemon=True).start()
    be_member(topic, dict(pair.split("=", 1) for pair in pairs), ends)
