"""Samples of `kctl groups lag`: one or several, repainted on a terminal, otherwise printed as blocks."""

from collections.abc import Mapping
from datetime import UTC, datetime
from typing import TYPE_CHECKING, NamedTuple

from kctl.cli.admin_client import open_admin
from kctl.cli.changes import report_failures
from kctl.cli.exit_codes import ExitCode
from kctl.cli.failures import explain
from kctl.cli.formats.listing import Listing, Section, write_listing
from kctl.cli.groups.lag_look import COLUMNS, LagLook, LagQuery, code_of, look_at, shown_columns
from kctl.cli.groups.lag_rates import LagSamples, keeps_pace, total
from kctl.cli.options import Common
from kctl.cli.output_options import Output
from kctl.client.admin import Admin
from kctl.client.clock import duration_text
from kctl.client.errors import ApiTimeout, KafkaError
from kctl.client.network.system import system_runtime
from kctl.client.wording import counted

if TYPE_CHECKING:
    from rich.text import Text


SHOW_AGAIN_MS = 200
"""Interval at which resizes of the terminal are checked."""


class Rounds(NamedTuple):
    """Number and interval of samples.

    Attributes:
        looks: number of samples; None for no end.
        samples_first: take samples without printing until all rates are known.
    """

    looks: int | None
    interval_ms: int
    samples_first: bool = False


def show_lag(common: Common, output: Output, query: LagQuery, rounds: Rounds) -> int:
    """Take and print samples, each within the API timeout. Return the exit code of the last sample."""
    runtime = system_runtime()
    waiter = runtime.driver.waiter()
    samples = LagSamples()
    number = 0
    is_painted = rounds.looks != 1 and output is Output.TABLE and common.environment.can_redraw
    with open_admin(common) as admin:
        is_sampled = not rounds.samples_first
        while not is_sampled:
            next_at_ms = runtime.clock.start_ms() + rounds.interval_ms
            with admin.within():
                look_at(common, admin, query, samples)
            is_sampled = samples.are_complete
            if not is_sampled:
                runtime.driver.wait(waiter, next_at_ms)
        if is_painted:
            return _paint(common, admin, query, rounds, samples)
        while True:
            number += 1
            next_at_ms = runtime.clock.start_ms() + rounds.interval_ms
            extra: dict[str, int] = {} if rounds.looks == 1 else {"look": number, "wall_ms": runtime.clock.wall_ms()}
            if number > 1 and output is Output.TABLE:
                common.environment.stdout.write(memoryview(b"\n"))
            try:
                with admin.within():
                    look = look_at(common, admin, query, samples)
                code = _write(common, output, look, extra)
            except KafkaError as error:
                if rounds.looks == 1 or (number == 1 and not isinstance(error, ApiTimeout)):
                    raise
                code = report_failures(common, (), [error])
            if number == rounds.looks:
                return code
            runtime.driver.wait(waiter, next_at_ms)


def _write(common: Common, output: Output, look: LagLook, extra: Mapping[str, int]) -> int:
    rows, columns = look.rows(), list(COLUMNS)
    facts: Mapping[str, object] = extra
    if output is Output.CSV and extra:
        rows = [{**extra, **row} for row in rows]
        columns, facts = [*extra, *columns], {}
    shown = look.shown_rows()
    listing = Listing("partitions", columns, rows, facts, shown=shown_columns(shown), sections=[Section((), shown)])
    if extra and output is Output.TABLE:
        common.say(f"{common.environment.program}: {plain_summary(look, extra['wall_ms'])}")
    if look.has_found:
        write_listing(common.environment, output, listing)
    for note in look.notes:
        common.say(f"{common.environment.program}: {note}")
    return code_of(look, report_failures(common, look.has_found, look.errors))


def _code(look: LagLook) -> int:
    if not look.errors:
        return ExitCode.OK
    return ExitCode.PARTIAL_FAILURE if look.has_found else explain(look.errors[0]).code


def _paint(common: Common, admin: Admin, query: LagQuery, rounds: Rounds, samples: LagSamples) -> int:
    from kctl.cli.data_out import DataOut  # wanted where something is painted
    from kctl.cli.groups.lag_frame import draw, late_frame
    from kctl.cli.view.painter import Painter

    environment = common.environment
    runtime = system_runtime()
    waiter = runtime.driver.waiter()
    number = code = 0
    last: LagLook | None = None
    """The last successful sample."""
    summary = ""
    late: KafkaError | None = None
    """Error of the present sample, if it failed."""

    def frame() -> "list[Text]":
        columns, height = environment.size()
        drawn = [] if last is None else draw(last, samples, summary, columns, height)
        return drawn if late is None else late_frame(drawn, late, height)

    with Painter.on_stdout(DataOut(environment.stdout), environment) as painter:
        while True:
            number += 1
            next_at_ms = runtime.clock.start_ms() + rounds.interval_ms
            try:
                with admin.within():
                    look = look_at(common, admin, query, samples)
                summary = plain_summary(look, runtime.clock.wall_ms())
                last, late = look, None
                code = code_of(look, _code(look))
            except KafkaError as error:
                if number == 1 and not isinstance(error, ApiTimeout):
                    raise
                late = error
                code = explain(error).code
            common.end_notices()  # they would be written across the frame, which has the errors
            painter.paint(frame())
            if number == rounds.looks:
                return code
            while (now_ms := runtime.clock.now_ms()) < next_at_ms:
                runtime.driver.wait(waiter, min(next_at_ms, now_ms + SHOW_AGAIN_MS))
                if painter.is_stale:
                    painter.paint(frame())


def plain_summary(look: LagLook, wall_ms: int) -> str:
    """Return one line with time, total lag, rates, and time to catch up."""
    lag, rates = total(look.lags, look.rates)
    groups = len({each.group_id for each in look.lags})
    parts = [f"lag {lag:,}"]
    if rates.rate_per_s is not None and rates.produced_per_s is not None:
        parts.append(f"{rates.rate_per_s:,.0f}/s read, {rates.produced_per_s:,.0f}/s written")
        if lag and rates.catch_up_ms is not None:
            parts.append(f"time to catch up: {duration_text(rates.catch_up_ms)}")
        elif lag and len(look.rates) == sum(each.lag is not None for each in look.lags):
            parts.append("keeping pace" if keeps_pace(rates) else "not catching up")
    parts.append(f"{counted(groups, 'group')}, {counted(len(look.lags), 'partition')}")
    return f"{datetime.fromtimestamp(wall_ms / 1000, UTC):%H:%M:%S} UTC  {', '.join(parts)}"
