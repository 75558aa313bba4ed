"""The options of jobs that go on with what comes, declared once. Shown by tests/cli/test_pipeline.py."""

from typing import Annotated, NamedTuple

import click
import typer

from kctl.cli.options import DurationType


class ContinuingOptions(NamedTuple):
    """Whether and how often a job looks again, and whether it goes on over what is gone."""

    continuous: bool
    interval_ms: int | None
    allow_loss: bool

    def interval_ms_or(self, default_ms: int) -> int | None:
        """Return the time from one look to the next; None: the job ends."""
        if not self.continuous:
            return None
        return default_ms if self.interval_ms is None else self.interval_ms


def continuing_options(
    continuous: Annotated[bool, typer.Option("--continuous", help="Go on with what comes, until Ctrl-C.")] = False,
    interval: Annotated[
        int | None,
        typer.Option(
            "--interval", click_type=DurationType(), metavar="DURATION", help="From one look to the next (10s)."
        ),
    ] = None,
    allow_loss: Annotated[
        bool, typer.Option("--allow-loss", help="Go on where records were deleted before they were read.")
    ] = False,
) -> ContinuingOptions:
    """Return what was chosen. Raises: click.UsageError: an interval of what happens once."""
    if interval is not None and not continuous:
        raise click.UsageError("--interval is for --continuous.")
    return ContinuingOptions(continuous, interval, allow_loss)
