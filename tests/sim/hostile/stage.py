"""Stage: runs command lines on a simulated cluster whose responses are edited, and measures each run.

Work is CPU time of the process and memory its resident set, as Linux counts them. Editing is not measured.
"""

import gc
import resource
import signal
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from types import FrameType
from typing import Any, NamedTuple

import pytest

from kctl.client.protocol.framing import encode_response
from kctl.client.protocol.schema import Response
from kctl.sandbox import ClusterSettings
from tests.sim.kit import SimCluster
from tests.sim.kit.command_lines import use_hub
from tests.sim.virtual import Hub
from tests.support.bounds import bound
from tests.support.in_process import Ended, run_in_process

MOST_CPU_S = bound(2)
MOST_MEMORY_BYTES = (300 - 35) << 20
"""The limit of a process, without what kctl takes for any command."""
API_TIMEOUT = "5s"
SETTINGS = ClusterSettings(authorizer=True, super_users=("User:ANONYMOUS",))
_STATUS, _CLEAR = Path("/proc/self/status"), Path("/proc/self/clear_refs")
_CLEAR_PEAK = "5"
BUG = ("which is a bug", "Traceback")
"""What an exception that nothing expected leaves on stderr."""

Edit = Callable[[Response, int, int], bytes | None]
"""Gets a response, its version and its correlation id; returns the frame to send, or None for the true one."""


class Exceeded(BaseException):
    """A run has used more CPU than it may."""


class Run(NamedTuple):
    """How a command ended, and what it took."""

    ended: Ended
    cpu_s: float
    memory_bytes: int
    edited: int
    """Responses that were edited."""
    is_endless: bool

    def wrong(self) -> str:
        """Return what a command may not do; empty if nothing is wrong."""
        if self.is_endless or self.cpu_s > MOST_CPU_S * max(1, self.edited):
            return f"CPU of {self.cpu_s:.1f} s"
        if self.memory_bytes > MOST_MEMORY_BYTES:
            return f"memory of {self.memory_bytes >> 20} MiB"
        for word in BUG:
            if word in self.ended.stderr:
                return self.ended.stderr[-600:]
        return ""


class Stage:
    """A cluster and the commands that run on it, one after the other."""

    def __init__(self, cluster: SimCluster) -> None:
        self.cluster = cluster
        self.conversation: list[tuple[type[Response], int]] = []
        """The responses of the last run, with their versions."""
        self._edit: Edit = _leave
        self._edited_s = 0.0
        self._edited = 0

    def run(self, line: str, stdin: bytes = b"", edit: Edit | None = None) -> Run:
        """Run a command line with edited responses."""
        self._edit, self._edited, self._edited_s = edit or _leave, 0, 0.0
        self.conversation = []
        words = (*line.split(), "-b", self.cluster.bootstrap, "--api-timeout", API_TIMEOUT)
        gc.collect()
        before_bytes = _reset_peak()
        before_s = time.process_time()
        ended = Ended(0, b"", "")
        is_endless = False
        with _limited(MOST_CPU_S * 10):
            try:
                ended = run_in_process(*words, stdin=stdin, environ={"NO_COLOR": "1"}, runtime=self.cluster.runtime)
            except Exceeded:
                is_endless = True
        self._edit = _leave
        cpu_s = time.process_time() - before_s - self._edited_s
        return Run(ended, cpu_s, _peak_bytes() - before_bytes, self._edited, is_endless)

    def encode(self, response: Response, version: int, correlation_id: int) -> bytes:
        """Return the frame of a response; stands for the function of the sandbox's connections."""
        before_s = time.process_time()
        self.conversation.append((type(response), version))
        edited = self._edit(response, version, correlation_id)
        self._edited += edited is not None
        self._edited_s += time.process_time() - before_s
        return encode_response(response, version, correlation_id) if edited is None else edited


def _leave(_response: Response, _version: int, _correlation_id: int) -> bytes | None:
    return None


def play(monkeypatch: pytest.MonkeyPatch, scene: Callable[[Stage], None]) -> None:
    """Run a scene on a cluster that has records, groups, and a member of one of them."""
    gc.collect()
    gc.freeze()  # `Stage.run` collects the garbage of one command, not of everything that is imported
    with Hub(seed=7) as hub:
        cluster = SimCluster(hub, topics={"t": 2, "u": 1}, settings=SETTINGS)
        stage = Stage(cluster)
        use_hub(monkeypatch, cluster)

        def app() -> None:
            cluster.write(0, 3)
            cluster.commit("g", {("t", 0): 1})
            with cluster.classic_member("live", group_instance_id="one") as member:  # stays as a static member
                while not member.assignment:
                    member.poll(1)
            monkeypatch.setattr("kctl.sandbox.connection.encode_response", stage.encode)
            scene(stage)

        cluster.run(app)


# --- measurement ------------------------------------------------------------------------------------------------------


def _reset_peak() -> int:
    """Return the resident set, from which the peak is counted again."""
    if sys.platform != "linux":
        return _peak_bytes()
    _CLEAR.write_text(_CLEAR_PEAK)
    return _peak_bytes()


def _peak_bytes() -> int:
    if sys.platform != "linux":
        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    line = next(each for each in _STATUS.read_text().splitlines() if each.startswith("VmHWM"))
    return int(line.split()[1]) << 10


@contextmanager
def _limited(cpu_s: float) -> Iterator[None]:
    """Raise Exceeded inside the body after so much CPU time."""

    def end(_number: int, _frame: FrameType | None) -> Any:
        raise Exceeded

    before = signal.signal(signal.SIGPROF, end)
    signal.setitimer(signal.ITIMER_PROF, cpu_s)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
        signal.signal(signal.SIGPROF, before)
