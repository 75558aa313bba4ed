"""LiveReport: the probe's table on a terminal, painted over as things happen.

Nothing here reads time or starts a thread: each `draw` paints once. Shown by tests/cli/test_terminal.py.
"""

from types import TracebackType
from typing import IO, Self, cast

from rich.console import Console
from rich.live import Live

from kctl.cli.data_out import DataOut
from kctl.cli.environment import Environment
from kctl.cli.exit_codes import ExitCode
from kctl.cli.view.probe_state import ProbeState
from kctl.cli.view.probe_table import draw
from kctl.client.clock import Clock
from kctl.client.events import Event


class _TerminalFile:
    """What rich needs of a file, before a DataOut."""

    def __init__(self, out: DataOut) -> None:
        self._out = out

    def write(self, text: str) -> int:
        self._out.write(text.encode("utf-8", "replace"))
        return len(text)

    def flush(self) -> None:
        self._out.flush()

    def isatty(self) -> bool:
        return True


class LiveReport:
    """A table that is painted over; the width is asked for again at each painting, so resizing is followed."""

    def __init__(self, out: DataOut, environment: Environment) -> None:
        self._clock: Clock = environment.clock
        self._console = Console(
            file=cast(IO[str], _TerminalFile(out)),
            force_terminal=True,
            no_color=not environment.colour,
            highlight=False,
            markup=False,
            emoji=False,
            _environ=environment.environ,
        )
        self._live = Live(console=self._console, auto_refresh=False, redirect_stdout=False, redirect_stderr=False)

    def take(self, event: Event) -> None:
        """Show nothing yet: the next `draw` shows the state."""

    def draw(self, state: ProbeState) -> None:
        now_ms = self._clock.now_ms()
        self._live.update(draw(state, now_ms, self._console.width), refresh=True)

    def finish(self, state: ProbeState, _code: ExitCode) -> None:
        self.draw(state)

    def __enter__(self) -> Self:
        self._live.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self._live.stop()
