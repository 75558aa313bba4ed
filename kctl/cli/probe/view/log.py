"""Probe events one by one, as lines for people off a terminal. Shown by tests/unit/cli/probe/view/test_log.py."""

from typing import TypeGuard

from kctl.cli.formats.terminal import harmless_text
from kctl.client.events import Event, Expired, Failed, Lost, PhaseDone, Ready, Started
from kctl.grammar.durations import show_duration

Told = Started | PhaseDone | Ready | Failed | Expired | Lost
"""The events that a probe tells; frames and orderly closes are not among them."""


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
        return f"connected after {event.elapsed_ms} ms"
    error = str(event.error).removeprefix(f"{event.target}: ")
    if isinstance(event, Lost):
        return f"lost: {error}"
    outcome = "failed" if isinstance(event, Failed) else "expired"
    return f"{outcome} in {event.phase.value} after {event.elapsed_ms} ms: {error}"
