"""Probe events one by one: as a line for people off a terminal, as an object for `--output jsonl`.

The objects are a promise to scripts: fields are added, never renamed. Shown by tests/unit/cli/view/test_probe_log.py.
"""

from typing import Any, TypeGuard

from kctl.cli.durations import show_duration
from kctl.cli.exit_codes import ExitCode
from kctl.cli.formats.terminal import harmless_text
from kctl.cli.view.probe_state import Outcome, ProbeState
from kctl.client.errors import KafkaError
from kctl.client.events import Event, Expired, Failed, Lost, PhaseDone, Ready, Started, Target

Told = Started | PhaseDone | Ready | Failed | Expired | Lost
"""The events that a probe tells; frames and orderly closes are not among them."""

_NAMES: dict[type[Told], str] = {
    Started: "started",
    PhaseDone: "phase_done",
    Ready: "ready",
    Failed: "failed",
    Expired: "expired",
    Lost: "lost",
}


def is_told(event: Event) -> TypeGuard[Told]:
    """Return whether a probe says something about this event."""
    return isinstance(event, Told)


def event_line(event: Told, since_ms: int) -> str:
    """Return the event as one line that starts with the milliseconds since `since_ms`."""
    return harmless_text(f"{event.at_ms - since_ms:>6} ms  {event.target}  {_words(event)}")


def _words(event: Told) -> str:
    if isinstance(event, Started):
        return f"{event.phase.value} started, limit {show_duration(event.limit_ms)}"
    if isinstance(event, PhaseDone):
        detail = f": {event.detail}" if event.detail else ""
        return f"{event.phase.value} done in {event.elapsed_ms} ms{detail}"
    if isinstance(event, Ready):
        return f"ready after {event.elapsed_ms} ms"
    error = str(event.error).removeprefix(f"{event.target}: ")
    if isinstance(event, Lost):
        return f"lost: {error}"
    outcome = "failed" if isinstance(event, Failed) else "expired"
    return f"{outcome} in {event.phase.value} after {event.elapsed_ms} ms: {error}"


def event_object(event: Told, since_ms: int) -> dict[str, Any]:
    """Return the event as an object of plain values; instants are milliseconds since `since_ms`."""
    fields: dict[str, Any] = {"event": _NAMES[type(event)], **event._asdict()}
    fields["at_ms"] = event.at_ms - since_ms
    fields.pop("target")
    fields |= _target_object(event.target)
    if "phase" in fields:
        fields["phase"] = fields["phase"].value
    if "error" in fields:
        fields["error"] = _error_object(fields["error"])
    return fields


def summary_object(state: ProbeState, code: ExitCode) -> dict[str, Any]:
    """Return the last object of a probe: how every address stands, and the exit code."""
    rows = [
        {
            **_target_object(row.target),
            "outcome": row.outcome.value,
            "phase": row.phase.value,
            "elapsed_ms": row.elapsed_ms,
            "limit_ms": row.limit_ms,
            "phases_ms": {step.phase.value: step.elapsed_ms for step in row.steps},
            "error": None if row.error is None else _error_object(row.error),
        }
        for row in state.rows
    ]
    return {
        "event": "summary",
        "ready": state.count(Outcome.READY),
        "failed": state.count(Outcome.FAILED, Outcome.EXPIRED),
        "exit_code": int(code),
        "addresses": rows,
    }


def _target_object(target: Target) -> dict[str, Any]:
    return {
        "attempt": target.attempt,
        "node_id": target.node_id,
        "host": target.host,
        "port": target.port,
        "address": target.address or None,
    }


def _error_object(error: KafkaError) -> dict[str, str]:
    return {"name": type(error).__name__, "message": str(error)}
