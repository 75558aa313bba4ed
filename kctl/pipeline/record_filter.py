"""RecordFilter: selection of records of an Arrow batch by time, key, header or a jq program."""

import base64
import json
import re
from collections.abc import Iterator
from functools import lru_cache
from itertools import repeat
from typing import Any, NamedTuple

import pyarrow as pa
import pyarrow.compute as pc

from kctl.client.errors import ConfigError
from kctl.pipeline.job_errors import RecordDataError

COLUMNS = ("key", "value", "topic", "partition", "offset", "timestamp", "headers")
"""Columns that a batch needs."""


class RecordFilter(NamedTuple):
    """Conditions that a record must meet, all of them.

    Attributes:
        since_ms, until_ms: half-open range of timestamps, in ms since the epoch.
        key: regular expression to find in the key. Records without a key do not match.
        headers: pairs of header name and value. The value None matches any value.
        jq: program for records in the format of `consume --output jsonl`. Its first result must exist and be neither
            false nor null, as with `select`.
    """

    since_ms: int | None = None
    until_ms: int | None = None
    key: str | None = None
    headers: tuple[tuple[str, str | None], ...] = ()
    jq: str | None = None

    def check(self) -> None:
        """Validate the regular expression, the headers and the jq program.

        Raises:
            ConfigError: one of them is invalid or not UTF-8.
            LibraryMissingError: jq is not installed.
        """
        if self.key is not None:
            if not _is_unicode(self.key):
                raise ConfigError(f"invalid --key {self.key[:80]!r}: use UTF-8", key="--key")
            try:
                re.compile(self.key.encode())
            except (OverflowError, re.error) as e:
                raise ConfigError(
                    f"invalid --key {self.key[:80]!r}: use a regular expression ({e})", key="--key"
                ) from None
            except RecursionError:
                raise ConfigError(
                    f"invalid --key {self.key[:80]!r}: the regular expression is nested too deeply", key="--key"
                ) from None
        for name, value in self.headers:
            if not _is_unicode(name + (value or "")):
                raise ConfigError(
                    f"invalid --header {name[:80]!r}: use UTF-8 for the name and the value", key="--header"
                )
        if self.jq is not None:
            _program(self.jq)

    def wanted(self, batch: pa.RecordBatch) -> pa.RecordBatch:
        at_ms = _times_ms(batch)
        if self.since_ms is not None:
            batch, at_ms = _where(pc.greater_equal(at_ms, self.since_ms), batch, at_ms)
        if self.until_ms is not None:
            batch, at_ms = _where(pc.less(at_ms, self.until_ms), batch, at_ms)
        if self.headers:
            rows = batch.column("headers").to_pylist()
            batch = batch.filter(pa.array([self._has_headers(row or ()) for row in rows], pa.bool_()))
        if self.key is not None or self.jq is not None:
            batch = batch.filter(pa.array(list(self.decisions(batch)), pa.bool_()))
        return batch

    def decisions(self, batch: pa.RecordBatch) -> Iterator[bool]:
        """Yield for each record whether its key matches and the jq program selects it.

        Raises: RecordDataError: the jq program failed.
        """
        found = None if self.key is None else re.compile(self.key.encode()).search
        program = None if self.jq is None else _program(self.jq)
        keys = batch.column("key").to_pylist()
        objects = repeat(None) if program is None else _objects(batch)
        for key, record in zip(keys, objects, strict=False):
            has_key = found is None or (key is not None and found(key) is not None)
            yield has_key and (record is None or _is_selected(program, record))

    def _has_headers(self, row: Any) -> bool:
        return all(
            any(each["key"] == name and (value is None or each["value"] == value.encode()) for each in row)
            for name, value in self.headers
        )


def _where(mask: pa.Array, batch: pa.RecordBatch, at_ms: pa.Array) -> tuple[pa.RecordBatch, pa.Array]:
    return batch.filter(mask), at_ms.filter(mask)


@lru_cache(maxsize=8)
def _program(text: str) -> Any:
    from kctl.serdes.libraries import import_library

    if not _is_unicode(text):
        raise ConfigError("invalid --jq program: use UTF-8", key="--jq")
    try:
        return import_library("jq", "jq").compile(text)
    except ValueError as e:
        raise ConfigError(f"--jq: {' '.join(str(e).split())}"[:300], key="--jq") from None


def _is_selected(program: Any, record: dict[str, object]) -> bool:
    try:
        found = next(iter(program.input_text(json.dumps(record))), None)
    except ValueError as e:
        where = f"{record['topic']}-{record['partition']} offset {record['offset']}"
        raise RecordDataError(f"cannot evaluate --jq on {where}: {' '.join(str(e).split())}"[:400]) from None
    return found is not None and found is not False


def _objects(batch: pa.RecordBatch) -> Iterator[dict[str, object]]:
    times = _times_ms(batch).to_pylist()
    names = [name for name in COLUMNS if name != "timestamp"]
    for row, at_ms in zip(batch.select(names).to_pylist(), times, strict=True):
        yield {
            **{name: row[name] for name in ("topic", "partition", "offset")},
            "timestamp": at_ms,
            "key": _text(row["key"]),
            "value": _text(row["value"]),
            "headers": [[each["key"], _text(each["value"])] for each in row["headers"] or ()],
        }


def _times_ms(batch: pa.RecordBatch) -> pa.Array:
    return batch.column("timestamp").cast(pa.timestamp("ms", "UTC"), safe=False).cast(pa.int64())


def _is_unicode(text: str) -> bool:
    """Return whether a command-line argument was valid UTF-8. Python decodes other bytes as surrogates."""
    return not any("\ud800" <= each <= "\udfff" for each in text)


def _text(data: bytes | None) -> object:
    if data is None:
        return None
    try:
        return data.decode()
    except UnicodeDecodeError:
        return {"base64": base64.b64encode(data).decode()}
