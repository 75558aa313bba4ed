"""kcat (librdkafka), the program as installed.

What kcat cannot carry is refused or read back as near as it gets: it sets no timestamps, sends no NUL in keys, no null
beside an empty value, and prints headers as text. Debian's old librdkafka fails SCRAM against Kafka 4.
"""

import itertools
import re
from collections.abc import Iterator, Mapping, Sequence

from tests.conformance.foreign.client import DEADLINE_S, ForeignClientError, Isolation, checked_count, run_bounded
from tests.conformance.foreign.login import librdkafka_settings
from tests.conformance.foreign.record import ForeignRecord, Headers
from tests.support.kafka.toolchain import find_tool

_END_OF_KEY, _END_OF_RECORD = "\x1e", "\x1d"
_FORMAT = "%p %o %T %K %S %h\n%k%s"
_HEAD = re.compile(rb"(\d+) (\d+) (-?\d+) (-?\d+) (-?\d+) ([^\n]*)\n")


class Kcat:
    """See `ForeignClient`."""

    name = "kcat"
    codecs = ("none", "gzip", "snappy", "lz4", "zstd")
    sends_null_headers = True

    def require(self) -> None:
        """See `ForeignClient`."""
        find_tool("kcat", "kcat")

    def produce(
        self,
        bootstrap: str,
        topic: str,
        records: Sequence[ForeignRecord],
        codec: str = "none",
        properties: Mapping[str, str] | None = None,
        deadline_s: float = DEADLINE_S,
    ) -> None:
        """See `ForeignClient`; one run for each stretch of records of one partition and one set of headers.

        Raises:
            ValueError: a record is beyond kcat (module docstring).
        """
        base = [
            "-P",
            "-t",
            topic,
            "-X",
            f"compression.codec={codec}",
            "-X",
            "acks=all",
            "-X",
            "message.max.bytes=67108864",
        ]
        delimiters = ["-K", _END_OF_KEY, "-D", _END_OF_RECORD, "-Z"]
        for (partition, headers), run in itertools.groupby(records, lambda record: (record.partition, record.headers)):
            words = [word for name, value in headers for word in ("-H", _header(name, value))]
            data = b"".join(map(_line, run))
            command = [*base, "-p", str(partition), *delimiters, *words]
            self._run("produce", bootstrap, command, properties, data, deadline_s)

    def consume(
        self,
        bootstrap: str,
        topic: str,
        count: int,
        isolation: Isolation = "read_uncommitted",
        properties: Mapping[str, str] | None = None,
        deadline_s: float = DEADLINE_S,
    ) -> list[ForeignRecord]:
        """See `ForeignClient`."""
        command = [
            "-C",
            "-t",
            topic,
            "-o",
            "beginning",
            "-e",
            "-q",
            "-f",
            _FORMAT,
            "-X",
            f"isolation.level={isolation}",
        ]
        output = self._run("consume", bootstrap, command, properties, b"", deadline_s)
        return checked_count(self.name, list(_parse(output)), count)

    def list_topics(
        self, bootstrap: str, properties: Mapping[str, str] | None = None, deadline_s: float = DEADLINE_S
    ) -> list[str]:
        """See `ForeignClient`."""
        output = self._run("list", bootstrap, ["-L"], properties, b"", deadline_s).decode()
        return sorted(name for name in re.findall(r'topic "([^"]+)"', output) if not name.startswith("__"))

    def _run(
        self,
        mode: str,
        bootstrap: str,
        words: Sequence[str],
        properties: Mapping[str, str] | None,
        data: bytes,
        deadline_s: float,
    ) -> bytes:
        settings = librdkafka_settings({**(properties or {}), "bootstrap.servers": bootstrap})
        more = [word for key, value in settings.items() for word in ("-X", f"{key}={value}")]
        command = [find_tool("kcat", "kcat"), *words, *more]
        return run_bounded(f"kcat {mode}", command, data, deadline_s)


def _header(name: str, value: bytes | None) -> str:
    return name if value is None else f"{name}={value.decode()}"


def _line(record: ForeignRecord) -> bytes:
    """Return what kcat reads for one record; with -Z an empty part means null."""
    delimiters = (_END_OF_KEY.encode(), _END_OF_RECORD.encode())
    for part in (record.key, record.value):
        if part == b"" or any(delimiter in (part or b"") for delimiter in delimiters):
            raise ValueError(f"kcat cannot send {part!r}")
    if record.timestamp_ms is not None:
        raise ValueError("kcat cannot set a timestamp")
    return (record.key or b"") + delimiters[0] + (record.value or b"") + delimiters[1]


def _parse(output: bytes) -> Iterator[ForeignRecord]:
    at = 0
    while at < len(output):
        head = _HEAD.match(output, at)
        if head is None:
            raise ForeignClientError(f"kcat printed {output[at : at + 80]!r} at byte {at}")
        partition, offset, timestamp, key_size, value_size = map(int, head.groups()[:5])
        at = head.end()
        key, at = _part(output, at, key_size)
        value, at = _part(output, at, value_size)
        yield ForeignRecord(value, key, _headers(head[6].decode()), partition, timestamp, offset)


def _part(output: bytes, at: int, size: int) -> tuple[bytes | None, int]:
    """Return a key or value and where it ends; size -1 is null."""
    return (None, at) if size < 0 else (output[at : at + size], at + size)


def _headers(text: str) -> Headers:
    pairs = [pair.partition("=") for pair in text.split(",") if pair]
    return tuple((name, None if value == "NULL" else value.encode()) for name, _, value in pairs)


KCAT = Kcat()
