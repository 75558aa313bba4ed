"""Client events as JSON objects, version 1 of docs/schemas/trace.v1.json.

Within a version, fields are only added. Except `round`, names and fields match `probe --output jsonl`.
"""

from collections.abc import Callable
from typing import Any

from kctl.cli.failures import exit_code
from kctl.cli.limit_names import with_options
from kctl.client.errors import KafkaError
from kctl.client.events import (
    AutoCommitFailed,
    Closed,
    CoordinatorFound,
    CoordinatorLost,
    Event,
    Expired,
    Failed,
    GroupChanged,
    Lost,
    MembershipLost,
    PhaseDone,
    PositionReset,
    Ready,
    RequestAbandoned,
    RequestExpired,
    RequestSent,
    ResponseReceived,
    Started,
    Target,
    Throttled,
)
from kctl.version import VERSION

SCHEMA_VERSION = 1

NAMES: dict[type[Event], str] = {
    Started: "started",
    PhaseDone: "phase_done",
    Ready: "connected",
    Failed: "failed",
    Expired: "expired",
    Closed: "closed",
    Lost: "lost",
    RequestSent: "request_sent",
    ResponseReceived: "response_received",
    RequestExpired: "request_expired",
    RequestAbandoned: "request_abandoned",
    Throttled: "throttled",
    PositionReset: "position_reset",
    AutoCommitFailed: "auto_commit_failed",
    MembershipLost: "membership_lost",
    GroupChanged: "group_changed",
    CoordinatorFound: "coordinator_found",
    CoordinatorLost: "coordinator_lost",
}


def opening(wall_ms: int) -> dict[str, Any]:
    """Return the first object of a file: the start time and the version of kctl."""
    return {"v": SCHEMA_VERSION, "event": "trace", "at_ms": 0, "time_ms": wall_ms, "kctl": VERSION}


def ending(at_ms: int) -> dict[str, Any]:
    """Return the last object of a file. Files without it are incomplete."""
    return {"v": SCHEMA_VERSION, "event": "end", "at_ms": at_ms}


def event_object(event: Event, started_at_ms: int) -> dict[str, Any]:
    """Return an event as plain values. `at_ms` counts from `started_at_ms`."""
    fields: dict[str, Any] = {"v": SCHEMA_VERSION, "event": NAMES[type(event)], "at_ms": event.at_ms - started_at_ms}
    for name, value in event._asdict().items():
        if name == "target":
            fields |= {"attempt": value.attempt, **target_object(value)}
        elif name in ("phase", "cause", "step"):
            fields[name] = value.value
        elif name == "error":
            fields[name] = None if value is None else error_object(value)
        elif name != "at_ms":
            fields[name] = value
    return fields


def target_object(target: Target) -> dict[str, Any]:
    return {
        "node_id": target.node_id,
        "host": target.host,
        "port": target.port,
        "address": target.address or None,
    }


def error_object(error: KafkaError) -> dict[str, Any]:
    return {
        "name": type(error).__name__,
        "message": with_options(str(error)),
        "hint": with_options(getattr(error, "hint", "")),
        "exit_code": int(exit_code(error)),
    }


def with_texts(change: Callable[[str], str], value: Any) -> Any:
    """Return a copy of a value with changed strings. Field names are unchanged.

    Call it before the conversion to JSON, which escapes strings.
    """
    if isinstance(value, str):
        return change(value)
    if isinstance(value, dict):
        return {name: with_texts(change, each) for name, each in value.items()}
    return [with_texts(change, each) for each in value] if isinstance(value, list | tuple) else value
