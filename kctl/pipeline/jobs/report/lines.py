"""Lines of probe and trace files, held to what docs/schemas promises of them, as far as a report uses it.

A line that does not keep it is a ValueError that says which field; it then counts for nothing. Pure. Shown by
tests/unit/pipeline/report/test_folding.py.
"""

import json
from collections.abc import Mapping
from typing import Any, NamedTuple

from kctl.pipeline.jobs.report.fleet import PHASES

VERSION = 1
LONGEST_LINE_BYTES = 32 * 1024 * 1024
_LONGEST_NAME = 300
_LONGEST_MS = 2**53
OUTCOMES = ("ready", "failed", "expired", "unfinished")
MOST_ADDRESSES = 100_000

Fields = Mapping[str, Any]


class AddressLine(NamedTuple):
    """An address of a summary.

    Attributes:
        phases_ms: the phases that were passed.
        certificate: (not_after_ms, subject, issuer) of what ends first in the chain; None where none was seen.
    """

    node: str
    address: str
    outcome: str
    phase: str
    elapsed_ms: int
    limit_ms: int
    phases_ms: dict[str, int]
    error: str
    certificate: tuple[int, str, str] | None


class SummaryLine(NamedTuple):
    """How a round of a probe ended."""

    time_ms: int
    addresses: list[AddressLine]


def parse_line(data: bytes) -> dict[str, Any]:
    """Return the object of a line.

    Raises: ValueError: it is none.
    """
    try:
        found = json.loads(data.strip().decode("utf-8-sig"))
    except UnicodeDecodeError:
        raise ValueError("not UTF-8") from None
    except json.JSONDecodeError as e:
        raise ValueError(f"not JSON: {e.msg} at column {e.colno}") from None
    except RecursionError:
        raise ValueError("not JSON that can be read: nested too deeply") from None
    if not isinstance(found, dict):
        raise ValueError(f"{_kind(found)} where an object is expected")
    return found


def event_of(fields: Fields) -> tuple[str, int]:
    """Return the kind of event and the version of its schema."""
    return text(fields, "event"), number(fields, "v")


def parse_summary(fields: Fields) -> SummaryLine:
    """Return what a report takes from a summary."""
    found = fields.get("addresses")
    if not isinstance(found, list):
        raise ValueError(f"addresses: {_kind(found)} where an array is expected")
    if len(found) > MOST_ADDRESSES:
        raise ValueError(f"addresses: {len(found)} of them, more than {MOST_ADDRESSES}")
    addresses = []
    for position, one in enumerate(found):
        try:
            addresses.append(_address(one))
        except ValueError as e:
            raise ValueError(f"addresses[{position}].{e}") from None
    return SummaryLine(number(fields, "time_ms"), addresses)


def _address(fields: Any) -> AddressLine:
    if not isinstance(fields, dict):
        raise ValueError(f"{_kind(fields)} where an object is expected")
    passed = fields.get("phases_ms")
    if not isinstance(passed, dict):
        raise ValueError(f"phases_ms: {_kind(passed)} where an object is expected")
    error = fields.get("error")
    return AddressLine(
        node_of(fields),
        ip_of(fields),
        one_of(fields, "outcome", OUTCOMES),
        one_of(fields, "phase", (*PHASES, "ready")),
        number(fields, "elapsed_ms"),
        number(fields, "limit_ms"),
        {phase: number(passed, phase) for phase in PHASES if phase in passed},
        "" if error is None else error_of(fields),
        _certificate(fields.get("tls")),
    )


def _certificate(tls: Any) -> tuple[int, str, str] | None:
    if tls is None:
        return None
    chain = tls.get("chain") if isinstance(tls, dict) else None
    if not isinstance(chain, list) or not all(isinstance(one, dict) for one in chain):
        raise ValueError("tls.chain: an array of objects is expected")
    return min(
        ((number(one, "not_after_ms"), text(one, "subject"), text(one, "issuer")) for one in chain), default=None
    )


def node_of(fields: Fields) -> str:
    """Return host:port, the name of a node."""
    host, port = text(fields, "host"), number(fields, "port")
    return f"[{host}]:{port}" if ":" in host else f"{host}:{port}"


def ip_of(fields: Fields) -> str:
    """Return the address that was dialled; empty while the name was looked up."""
    return "" if fields.get("address") is None else text(fields, "address")


def error_of(fields: Fields) -> str:
    """Return the name of the error."""
    error = fields.get("error")
    if not isinstance(error, dict):
        raise ValueError(f"error: {_kind(error)} where an object is expected")
    return text(error, "name")


def text(fields: Fields, name: str) -> str:
    """Return a text of bounded length."""
    value = fields.get(name)
    if not isinstance(value, str):
        raise ValueError(f"{name}: {_kind(value)} where a text is expected")
    if len(value) > _LONGEST_NAME:
        raise ValueError(f"{name}: {len(value)} characters, more than {_LONGEST_NAME}")
    return value


def number(fields: Fields, name: str) -> int:
    """Return a whole number from 0 on."""
    value = fields.get(name)
    if not isinstance(value, int) or isinstance(value, bool):
        raise ValueError(f"{name}: {_kind(value)} where a whole number is expected")
    if not 0 <= value <= _LONGEST_MS:
        raise ValueError(f"{name}: {str(value)[:40]} is out of range")
    return value


def one_of(fields: Fields, name: str, known: tuple[str, ...]) -> str:
    """Return a word that must be one of those known."""
    value = text(fields, name)
    if value not in known:
        raise ValueError(f"{name}: {value[:40]!r} is none of {', '.join(known)}")
    return value


def _kind(value: object) -> str:
    if value is None:
        return "nothing"
    kinds = {
        bool: "a boolean",
        int: "a number",
        float: "a fraction",
        str: "a text",
        list: "an array",
        dict: "an object",
    }
    return kinds.get(type(value), type(value).__name__)
