"""Reports of a probe: what reaches stdout while it runs and when it ends. Lines, or objects; probe_live.py paints.

Shown by tests/unit/cli/view/test_probe_report.py.
"""

import json
from types import TracebackType
from typing import Protocol, Self

from kctl.cli.data_out import DataOut
from kctl.cli.exit_codes import ExitCode
from kctl.cli.view.probe_log import event_line, event_object, is_told, summary_object
from kctl.cli.view.probe_state import ProbeState, summary
from kctl.client.events import Event


class Report(Protocol):
    """Takes what happens; a context, so that a terminal is put back whatever comes."""

    def take(self, event: Event) -> None:
        """Note one event."""
        ...

    def draw(self, state: ProbeState) -> None:
        """Show the state as it is now, where the report shows states at all."""
        ...

    def finish(self, state: ProbeState, code: ExitCode) -> None:
        """Show how it ended."""
        ...

    def __enter__(self) -> Self: ...

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None: ...


class _Unpainted:
    """What the reports have in common that write as things happen."""

    def __init__(self, out: DataOut, since_ms: int) -> None:
        self._out = out
        self._since_ms = since_ms

    def draw(self, state: ProbeState) -> None:
        """Show nothing: the events are told one by one."""

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self._out.flush()


class LinesReport(_Unpainted):
    """One line an event, and a summary."""

    def take(self, event: Event) -> None:
        if is_told(event):
            self._out.write_line(event_line(event, self._since_ms))

    def finish(self, state: ProbeState, _code: ExitCode) -> None:
        self._out.write_line(summary(state))


class JsonlReport(_Unpainted):
    """One object an event, and a summary."""

    def take(self, event: Event) -> None:
        if is_told(event):
            self._out.write_line(json.dumps(event_object(event, self._since_ms)))

    def finish(self, state: ProbeState, code: ExitCode) -> None:
        self._out.write_line(json.dumps(summary_object(state, code)))
