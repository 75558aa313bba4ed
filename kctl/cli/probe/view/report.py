"""Reports of a probe on stdout."""

from collections.abc import Callable, Mapping
from typing import Any, Self

from kctl.cli.data_out import DataOut, encoded
from kctl.cli.environment import Environment
from kctl.cli.exit_codes import ExitCode
from kctl.cli.formats.listing import Listing, document_lines, listing_lines, write_lines
from kctl.cli.formats.rows import Row, table_lines
from kctl.cli.output_options import Output
from kctl.cli.probe.view.objects import address_object, event_object, summary_object
from kctl.cli.probe.view.result import AddressStatus, ProbeResult, latency_ms, outcome
from kctl.cli.probe.view.statistics import COLUMNS, AddressKey, AddressLatencies, Statistics, statistics_rows
from kctl.cli.probe.view.text import blocked_by, event_line, fact_lines, finding_lines, is_logged, name, state, summary
from kctl.cli.probe.view.write_out import Template, fill
from kctl.cli.trace.event_objects import with_texts
from kctl.client.clock import Timer
from kctl.client.events import Event, Started
from kctl.client.probe import Prober


class Report:
    """Base class of reports. As a context manager, it restores the terminal."""

    def __init__(self, out: DataOut) -> None:
        self._out = out

    def on_event(self, event: Event) -> None:
        """Handle an event."""

    def draw(self, prober: Prober, timer: Timer) -> None:
        """Show the state of a running round. Only live reports do."""

    def ended(self, result: ProbeResult) -> None:
        """Show the result of a round."""

    def show_again(self) -> None:
        """Repeat the last output if the terminal size changed. Called between rounds."""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self._out.flush()


class LinesReport(Report):
    """One line for each event, then facts, findings and a summary."""

    def __init__(self, out: DataOut, started_at_ms: int, *, verbose: bool) -> None:
        super().__init__(out)
        self._started_at_ms = started_at_ms
        self._verbose = verbose

    def on_event(self, event: Event) -> None:
        if is_logged(event) and (self._verbose or not isinstance(event, Started)):
            self._out.write_line(event_line(event, self._started_at_ms))

    def ended(self, result: ProbeResult) -> None:
        for line in (*fact_lines(result), *finding_lines(result.findings), summary(result.reports)):
            self._out.write_line(line)


class ObjectsReport(Report):
    """Summaries as objects, one per round. JSON lines also contain the events.

    Args: masked: replaces secrets in a string.
    """

    def __init__(
        self,
        out: DataOut,
        started_at_ms: int,
        statistics: Statistics | None,
        output: Output,
        masked: Callable[[str], str],
    ) -> None:
        super().__init__(out)
        self._masked = masked
        self._started_at_ms = started_at_ms
        self._statistics: Mapping[AddressKey, AddressLatencies] | None = statistics
        self._output = output
        self._round = 1

    def on_event(self, event: Event) -> None:
        if self._output is Output.JSONL and is_logged(event):
            self._write(event_object(event, self._started_at_ms, self._round))

    def ended(self, result: ProbeResult) -> None:
        self._write(summary_object(result, self._started_at_ms, self._statistics))
        self._round = result.number + 1

    def _write(self, one: Mapping[str, Any]) -> None:
        if self._output is Output.YAML and self._round > 1:
            self._out.write_line("---")
        shape = Output.YAML if self._output is Output.YAML else Output.JSONL
        for line in document_lines(shape, with_texts(self._masked, one)):
            self._out.write_line(line)


class CsvReport(Report):
    """CSV row for each address and round."""

    COLUMNS = ("round", "node_id", "host", "port", "address", "outcome", "phase", "elapsed_ms", "error")

    def __init__(self, environment: Environment) -> None:
        super().__init__(DataOut(environment.stdout))
        self._environment = environment
        self._has_header = False

    def ended(self, result: ProbeResult) -> None:
        rows: list[Row] = []
        for report in result.reports:
            fields = address_object(report)
            error = None if report.error is None else type(report.error).__name__
            rows.append({"round": result.number, **{name: fields[name] for name in self.COLUMNS[1:-1]}, "error": error})
        lines = listing_lines(self._environment, Output.CSV, Listing("addresses", self.COLUMNS, rows))
        write_lines(self._environment, lines[self._has_header :])
        self._has_header = True


class QuietReport(Report):
    """One line for each round: its state, and the reason if it is not ok."""

    def ended(self, result: ProbeResult) -> None:
        word = {ExitCode.OK: "ok", ExitCode.PARTIAL_FAILURE: "degraded"}.get(result.code, "fail")
        line = f"{word}: {summary(result.reports)}"
        finding = blocked_by(result)
        if result.code is not ExitCode.OK:
            line += f" (exit code {int(result.code)}, {result.code.text})"
            if finding is not None:
                line += f": {finding.where}: {finding.text}" if finding.where else f": {finding.text}"
        self._out.write_line(line.replace("\n", " "))


class WriteOutReport(Report):
    """Output of a template, filled for each address."""

    def __init__(self, out: DataOut, template: Template) -> None:
        super().__init__(out)
        self._template = template

    def ended(self, result: ProbeResult) -> None:
        for report in result.reports:
            self._out.write(encoded(fill(self._template, report, result.wall_ms)))
        self._out.flush()


class RoundsReport(Report):
    """One line for each address and round, and statistics at the end, even after an interrupt."""

    def __init__(self, out: DataOut, statistics: Statistics, columns: int) -> None:
        super().__init__(out)
        self._statistics = statistics
        self._columns = columns

    def ended(self, result: ProbeResult) -> None:
        for report in result.reports:
            is_ready = outcome(report) is AddressStatus.READY
            how = f"ready in {latency_ms(report)} ms" if is_ready else f"{outcome(report).value}: {state(report)}"
            self._out.write_line(f"round {result.number}  {name(report)}  {how}")
        self._out.flush()

    def __exit__(self, *error: object) -> None:
        for line in table_lines(COLUMNS, statistics_rows(self._statistics.items()), self._columns):
            self._out.write_line(line)
        super().__exit__(*error)
