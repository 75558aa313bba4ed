"""Child process for a jq program, since Python handles no signals while jq runs."""

import os
import signal
import subprocess
import sys
import weakref
from collections.abc import Iterator, Sequence
from contextlib import suppress
from typing import IO, Any, NamedTuple

from kctl.posix import ALARM, limit_memory, set_timer
from kctl.serdes.errors import SerdesError
from kctl.serdes.json_text import show_json
from kctl.serdes.libraries import import_library

LIMIT_MS = 60_000
"""Timeout of one record. It also ends a child whose parent was killed."""
MOST_BYTES = 1 << 30
"""Memory limit of the child."""
OK, FAILED = b"+", b"-"
_LENGTH_BYTES = 8
WORD = "__jq"
"""Argument of kctl that starts the child."""
_KCTL = [sys.executable] if getattr(sys, "frozen", False) else [sys.executable, "-P", "-m", "kctl"]
"""Command line of this kctl. -P prevents imports from the working directory."""
_ENDS = {
    ALARM: f"the jq program did not finish within {LIMIT_MS // 1000}s",
    signal.SIGABRT: f"the jq program needs more than {MOST_BYTES >> 20} MiB of memory",
}


class JqFailure(NamedTuple):
    """Reason why the program failed for one input."""

    reason: str


class JqProcess:
    """Child process that runs a jq program. The process starts with the first input."""

    def __init__(self, program: str, *, is_ascii: bool) -> None:
        """Args: is_ascii: escape non-ASCII characters."""
        self._head = b"%d%s" % (is_ascii, program.encode("utf-8", "surrogateescape"))
        self._process: subprocess.Popen[bytes] | None = None

    def run(self, texts: Sequence[bytes]) -> Iterator[bytes | JqFailure]:
        """Yield the results for each text, one per line, or a JqFailure.

        If a text terminates the child, another child handles the remaining texts.
        """
        done = 0
        while done < len(texts):
            process = self._process = self._process or self._started()
            self._send(process, texts[done:])
            while done < len(texts) and self._process is not None:
                result = self._result(process)
                done += 1
                yield result

    def _send(self, process: "subprocess.Popen[bytes]", texts: Sequence[bytes]) -> None:
        assert process.stdin is not None
        with suppress(BrokenPipeError):  # the exit code of the child has the reason
            process.stdin.write(b"%d\n" % len(texts))
            for text in texts:
                _write(process.stdin, text)
            process.stdin.flush()

    def _result(self, process: "subprocess.Popen[bytes]") -> bytes | JqFailure:
        assert process.stdout is not None
        state = process.stdout.read(1)
        if state == OK:
            return _read(process.stdout)
        if state == FAILED:
            return JqFailure(_read(process.stdout).decode())
        self._process = None
        return JqFailure(_reason(process.wait()))

    def _started(self) -> "subprocess.Popen[bytes]":
        process = subprocess.Popen(
            [*_KCTL, WORD],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            env={**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))},
        )
        weakref.finalize(self, _end, process)
        assert process.stdin is not None
        with suppress(BrokenPipeError):
            _write(process.stdin, self._head)
        return process


def _end(process: "subprocess.Popen[bytes]") -> None:
    process.kill()
    with suppress(BrokenPipeError):
        process.communicate()


def _reason(code: int) -> str:
    name = next((text for number, text in _ENDS.items() if number is not None and code == -number), None)
    return name or f"the jq process exited with code {code}"


def run() -> None:
    """Run the jq program on the texts from stdin. Executed in the child."""
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, signal.SIG_DFL)
    limit_memory(MOST_BYTES)
    source, sink = sys.stdin.buffer, sys.stdout.buffer
    head = _read(source)
    is_ascii = head[:1] == b"1"
    program = import_library("jq", "jq").compile(head[1:].decode("utf-8", "surrogateescape"))
    while count := source.readline():
        for text in [_read(source) for _ in range(int(count))]:
            set_timer(LIMIT_MS / 1000)
            state, result = _result(program, text, is_ascii=is_ascii)
            sink.write(state)
            _write(sink, result)
            sink.flush()  # the next text may end the process
        set_timer(0)


def _result(program: Any, text: bytes, *, is_ascii: bool) -> tuple[bytes, bytes]:
    try:
        results = program.input_text(text.decode("utf-8", "replace")).all()
        return OK, b"".join(show_json(each, is_ascii=is_ascii).encode() + b"\n" for each in results)
    except MemoryError:
        return FAILED, _ENDS[signal.SIGABRT].encode()
    except (ValueError, SerdesError) as e:
        return FAILED, " ".join(str(e).split()).encode("utf-8", "replace")


def _write(to: IO[bytes], data: bytes) -> None:
    to.write(len(data).to_bytes(_LENGTH_BYTES, "big") + data)


def _read(source: IO[bytes]) -> bytes:
    return source.read(int.from_bytes(source.read(_LENGTH_BYTES), "big"))
