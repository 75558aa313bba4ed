"""Stage: runs command lines on a simulated cluster with edited responses, and measures each run.

Measures CPU time of the process and its resident memory on Linux, without the CPU time of the sandbox and of editing.
"""

import gc
import resource
import signal
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from io import BytesIO
from itertools import count
from pathlib import Path
from types import FrameType
from typing import Any, NamedTuple

import pytest

from kctl.client.protocol.framing import encode_response
from kctl.client.protocol.schema import Response
from kctl.client.records.compression import decompress
from kctl.sandbox import ClusterSettings
from kctl.sandbox.connection import BrokerConnection
from tests.sim.hostile.edits import FORGED
from tests.sim.kit import SimCluster
from tests.sim.kit.command_lines import use_hub
from tests.sim.virtual import Hub
from tests.support.bounds import bound
from tests.support.in_process import Ended, run_in_process

MOST_CPU_S = bound(2)
"""CPU limit on a machine that executes the work of `slowness` in `REFERENCE_S`. Slower machines get more."""
REFERENCE_S = 0.035
SLOWEST = 5
"""Maximum ratio by which the limit grows."""
WRITTEN_BYTES_A_S, YAML_BYTES_A_S, DECOMPRESSED_BYTES_A_S = 50e6, 3e6, 1e9
"""Rates for the CPU limit: output costs CPU by its size, and batches by their decompressed size. YAML is slow."""
MOST_MEMORY_BYTES = (300 - 35) << 20
"""The limit of a process, without what kctl takes for any command."""
LARGE_BYTES, MEMORY_FOR_A_BYTE = 2_000_000, 20
"""Total response size above which more memory is allowed, because an edit caused more requests, and the factor."""
API_TIMEOUT = "5s"
SETTINGS = ClusterSettings(authorizer=True, super_users=("User:ANONYMOUS",))
_STATUS, _CLEAR = Path("/proc/self/status"), Path("/proc/self/clear_refs")
_CLEAR_PEAK = "5"
BUG = ("which is a bug", "Traceback")
"""Text of an unexpected exception on stderr."""

Answer = tuple[type[Response], int]
"""A response and its version."""
Edit = Callable[[Response, int, int], bytes | None]
"""Gets a response, its version and its correlation id; returns the frame to send, or None for the true one."""


class Exceeded(BaseException):
    """A run has used more CPU than it may."""


class Run(NamedTuple):
    """Result and cost of a command."""

    ended: Ended
    cpu_s: float
    memory_bytes: int
    edited: int
    """Responses that were edited."""
    received_bytes: int
    """Size of all responses."""
    written_bytes: int
    """Size of stdout, whose end is not kept."""
    decompressed_bytes: int
    """Size of all decompressed batches."""
    is_yaml: bool

    def wrong(self) -> str:
        """Return what a command may not do; empty if nothing is wrong."""
        most_s = MOST_CPU_S * max(1, self.edited, self.received_bytes / 1e6)
        most_s += self.written_bytes / (YAML_BYTES_A_S if self.is_yaml else WRITTEN_BYTES_A_S)
        most_s += self.decompressed_bytes / DECOMPRESSED_BYTES_A_S
        if self.cpu_s > most_s and self.cpu_s > most_s * (ratio := slowness()):
            return f"CPU of {self.cpu_s:.1f} s, on a machine {ratio:.1f} times slower than the reference"
        more_bytes = max(0, self.received_bytes - LARGE_BYTES) * MEMORY_FOR_A_BYTE
        if self.memory_bytes > MOST_MEMORY_BYTES + more_bytes:
            return f"memory of {self.memory_bytes >> 20} MiB"
        for word in BUG:
            if word in self.ended.stderr:
                return self.ended.stderr[-600:]
        if FORGED in f"{self.ended.stdout.decode(errors='replace')}{self.ended.stderr}":
            return "a forged line"
        return ""


class Stage:
    """A cluster and the commands that run on it, one after the other."""

    def __init__(self, cluster: SimCluster) -> None:
        self.cluster = cluster
        self.conversation: list[Answer] = []
        """The responses of the last run, with their versions."""
        self._line = ""
        self._edit: Edit = _leave
        self._edited = 0
        self._received_bytes = 0
        self._decompressed_bytes = 0
        self._stdout = _Head()
        self._before_s = 0.0
        self._before_bytes = self._peak_bytes = 0

    def run(self, line: str, stdin: bytes = b"", edit: Edit | None = None) -> Run:
        """Run a command line with edited responses."""
        self._edit, self._edited, self._received_bytes = edit or _leave, 0, 0
        self.conversation = []
        self._line = line
        self._decompressed_bytes = 0
        self._stdout = _Head()
        words = (*line.split(), "-b", self.cluster.bootstrap, "--api-timeout", API_TIMEOUT)
        gc.collect()
        self._before_bytes = self._peak_bytes = _reset_peak()
        self._before_s, SANDBOX_S[0] = time.process_time(), 0.0
        with _limited(MOST_CPU_S * 5 * SLOWEST):
            ended = run_in_process(
                *words,
                stdin=stdin,
                environ={"NO_COLOR": "1", "SECRET": "secret"},
                runtime=self.cluster.runtime,
                stdout=self._stdout,
            )
        self._edit = _leave
        return self.measured(ended)

    def measured(self, ended: Ended) -> Run:
        """Return what the run took until now."""
        cpu_s = time.process_time() - self._before_s - SANDBOX_S[0]
        memory_bytes = max(self._peak_bytes, _peak_bytes()) - self._before_bytes
        return Run(ended, cpu_s, memory_bytes, *self._counts())

    def _counts(self) -> tuple[int, int, int, int, bool]:
        counts = self._edited, self._received_bytes, self._stdout.written_bytes, self._decompressed_bytes
        return *counts, "--export" in self._line

    def decompress(self, codec: str, data: memoryview, max_bytes: int) -> bytes:
        """Decompress a batch; replaces the function of the batch reader."""
        plain = decompress(codec, data, max_bytes)
        self._decompressed_bytes += len(plain)
        return plain

    def encode(self, response: Response, version: int, correlation_id: int) -> bytes:
        """Return the frame of a response; replaces the function of the sandbox's connections."""
        self.conversation.append((type(response), version))
        if self._edit is not _leave:
            self._peak_bytes = max(self._peak_bytes, _peak_bytes())
        left_s, _ = signal.setitimer(signal.ITIMER_PROF, 0)
        edited = self._edit(response, version, correlation_id)
        signal.setitimer(signal.ITIMER_PROF, left_s)
        self._edited += edited is not None
        if edited is not None:
            _reset_peak()
        frame = encode_response(response, version, correlation_id) if edited is None else edited
        self._received_bytes += len(frame)
        return frame


SANDBOX_WORK = ("receive", "writable", "_leave", "_unmute")
"""Methods of connections by which the sandbox works."""
SANDBOX_S = [0.0]
"""CPU time that the sandbox took since the run began."""


_SCENES = count()
SCENES_BETWEEN_UNFREEZES = 20
"""Scenes until frozen garbage is collected: to collect all that is imported takes longer than a scene."""


def _measured(work: Callable[..., None]) -> Callable[..., None]:
    """Return work of the sandbox that adds to `SANDBOX_S`, and not to the time of `_limited`."""

    def measure(*arguments: object) -> None:
        left_s, _ = signal.setitimer(signal.ITIMER_PROF, 0)
        before_s, inner_s = time.process_time(), SANDBOX_S[0]
        try:
            work(*arguments)
        finally:
            SANDBOX_S[0] = inner_s + time.process_time() - before_s
            signal.setitimer(signal.ITIMER_PROF, left_s)

    return measure


def _leave(_response: Response, _version: int, _correlation_id: int) -> bytes | None:
    return None


def play(monkeypatch: pytest.MonkeyPatch, scene: Callable[[Stage], None]) -> None:
    """Run a scene on a cluster that has records, groups, and a member of one of them.

    Raises: Exceeded: a run took too much CPU.
    """
    with Hub(seed=7) as hub:
        _play(monkeypatch, hub, scene, [])


def run_alone(line: str, stdin: bytes = b"", edit: Edit | None = None) -> tuple[Run, Sequence[Answer]]:
    """Return the result of a command line on a new cluster, and the responses it got."""
    stages: list[Stage] = []
    runs: list[Run] = []
    with pytest.MonkeyPatch.context() as monkeypatch, suppress(Exceeded), Hub(seed=7) as hub:
        _play(monkeypatch, hub, lambda stage: runs.append(stage.run(line, stdin, edit)), stages)
    return runs[0] if runs else stages[0].measured(Ended(0, b"", "")), stages[0].conversation


def _play(monkeypatch: pytest.MonkeyPatch, hub: Hub, scene: Callable[[Stage], None], stages: list[Stage]) -> None:
    if next(_SCENES) % SCENES_BETWEEN_UNFREEZES == 0:
        gc.unfreeze()  # clusters of former scenes are garbage now, though some were frozen
    gc.collect()
    gc.freeze()  # `Stage.run` collects the garbage of one command, not of everything that is imported
    cluster = SimCluster(hub, topics={"t": 2, "u": 1}, settings=SETTINGS)
    stage = Stage(cluster)
    stages.append(stage)
    use_hub(monkeypatch, cluster)

    def app() -> None:
        cluster.write(0, 3)
        cluster.commit("g", {("t", 0): 1})
        with cluster.classic_member("live", group_instance_id="one") as member:  # stays as a static member
            while not member.assignment:
                member.poll(1)
        monkeypatch.setattr("kctl.sandbox.connection.encode_response", stage.encode)
        monkeypatch.setattr("kctl.client.records.reader.decompress", stage.decompress)
        for name in SANDBOX_WORK:
            monkeypatch.setattr(BrokerConnection, name, _measured(getattr(BrokerConnection, name)))
        scene(stage)

    cluster.run(app)


# --- measurement ------------------------------------------------------------------------------------------------------


class _Head(BytesIO):
    """A stream that keeps its first megabyte.

    Attributes: written_bytes: how much was written to it.
    """

    written_bytes = 0

    def write(self, data: Any, /) -> int:
        size_bytes = len(data)
        if self.written_bytes < 1 << 20:
            super().write(data)
        self.written_bytes += size_bytes
        return size_bytes


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


def slowness() -> float:
    """Return how many times longer this machine takes now for many small objects, as a response of a megabyte has."""
    before_s = time.process_time()
    assert len({number: (number, str(number)) for number in range(200_000)}) == 200_000
    return min(SLOWEST, max(1.0, (time.process_time() - before_s) / REFERENCE_S))


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
