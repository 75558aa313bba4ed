"""What bench_cli.py found, as figures, as JSON and as the table of benchmarks/commands.md.

A ratio is kctl's median over the other's. What kctl loses or misses is listed by name, from the same figures.
"""

import statistics
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from benchmarks.cli_rows import Row
from benchmarks.cli_runs import Run

PAGE = Path(__file__).with_name("commands.md")
BEGIN, END = "<!-- begin of what make bench-cli writes -->", "<!-- end of what make bench-cli writes -->"
MEGABYTE = 1_000_000


class Figure(NamedTuple):
    """One quantity over all rounds."""

    median: float
    least: float
    most: float

    def __str__(self) -> str:
        digits = 0 if self.least >= 10 else 2
        return f"{self.median:.{digits}f} ({self.least:.{digits}f} to {self.most:.{digits}f})"


class Result(NamedTuple):
    """All runs of one row; `starts` are those with nothing to move."""

    row: Row
    runs: dict[str, list[Run]]
    starts: dict[str, list[Run]]


def figure(values: list[float]) -> Figure:
    return Figure(statistics.median(values), min(values), max(values))


def of_wall(runs: list[Run]) -> Figure:
    return figure([run.wall_s for run in runs])


def of_cpu(runs: list[Run]) -> Figure:
    return figure([run.cpu_s for run in runs])


def of_memory(runs: list[Run]) -> Figure:
    return figure([run.peak_bytes / MEGABYTE for run in runs])


WORDS = {"wall": "wall time", "record": "CPU of a record", "s": "s", "MB": "MB"}


def measured(result: Result, name: str) -> Figure:
    """Return what the row is about, of one client."""
    row, runs, starts = result
    if row.measure == "record":
        start_s = of_cpu(starts[name]).median
        return figure([(run.cpu_s - start_s) / row.records * 1e9 for run in runs[name]])
    return (of_memory if row.measure == "MB" else of_wall)(runs[name])


def shortfalls(results: list[Result]) -> Iterator[str]:
    """Yield each row where kctl is behind another client, or misses its bar."""
    for result in results:
        row = result.row
        ours = measured(result, "kctl").median
        for client in row.clients[1:]:
            ratio = ours / measured(result, client.name).median
            bar = row.bars.get(client.name)
            if bar is not None and ratio > bar:
                yield f"{row.name}: {ratio:.2f} times {client.name}'s {WORDS[row.measure]}, the bar is {bar:g}"
            elif bar is None and "" not in row.bars and ratio > 1:
                yield f"{row.name}: {ratio:.2f} times {client.name}'s {WORDS[row.measure]}"
        if "" in row.bars and ours > row.bars[""]:
            yield f"{row.name}: {ours:.2f} {row.measure}, the bar is {row.bars['']:g} {row.measure}"


def table(results: list[Result]) -> Iterator[str]:
    """Yield the lines of the table."""
    yield "| what | client | wall, s | CPU, s | kctl's wall is | kctl's CPU is |"
    yield "|---|---|---|---|---|---|"
    for row, runs, _ in results:
        if row.measure == "MB":
            continue
        ours = runs["kctl"]
        for number, client in enumerate(row.clients):
            theirs = runs[client.name]
            cells = [row.name.replace("|", "\\|") if number == 0 else "", client.name]
            cells += [str(of_wall(theirs)), str(of_cpu(theirs))]
            cells += [f"{of(ours).median / of(theirs).median:.2f} x" if number else "" for of in (of_wall, of_cpu)]
            yield f"| {' | '.join(cells)} |"
    yield from ("", "| CPU of a record | client | start, s | a record, ns | kctl's is |", "|---|---|---|---|---|")
    for result in results:
        if result.row.measure == "record":
            ours_ns = measured(result, "kctl").median
            for number, client in enumerate(result.row.clients):
                theirs_ns = measured(result, client.name)
                cells = [result.row.name if number == 0 else "", client.name, str(of_cpu(result.starts[client.name]))]
                cells += [str(theirs_ns), f"{ours_ns / theirs_ns.median:.2f} x" if number else ""]
                yield f"| {' | '.join(cells)} |"
    yield from ("", "| peak memory | client | MB |", "|---|---|---|")
    for result in results:
        if result.row.measure == "MB":
            for number, client in enumerate(result.row.clients):
                name = result.row.name.removeprefix("peak memory, ") if number == 0 else ""
                yield f"| {name} | {client.name} | {measured(result, client.name)} |"


def page_part(results: list[Result], about: dict[str, str]) -> str:
    """Return what stands between the marks of the page."""
    lines = [BEGIN, *(f"- {name}: {value}" for name, value in about.items()), "", *table(results), ""]
    behind = list(shortfalls(results))
    lines += [
        "Rows in which kctl is slower than its peer, or misses its bar:",
        "",
        *(f"- {line}" for line in behind or ["nowhere"]),
    ]
    return "\n".join([*lines, END])


def write_page(part: str) -> None:
    """Put the part between its marks."""
    text = PAGE.read_text(encoding="utf-8")
    before, _, rest = text.partition(BEGIN)
    _, _, after = rest.partition(END)
    PAGE.write_text(before + part + after, encoding="utf-8")


def as_json(results: list[Result], about: dict[str, str]) -> dict[str, object]:
    """Return everything that was measured, run by run."""
    rows = [
        {
            "name": row.name,
            "measure": row.measure,
            "bars": row.bars,
            "records": row.records,
            "runs": {name: [run._asdict() for run in each] for name, each in runs.items()},
            "starts": {name: [run._asdict() for run in each] for name, each in starts.items()},
        }
        for row, runs, starts in results
    ]
    return {"about": about, "rows": rows, "behind": list(shortfalls(results))}
