"""What bench_cli.py found, as figures, as JSON and as the table of docs/performance.md.

A ratio is kctl's median over the other's. What kctl loses or misses is listed by name, from the same figures.
"""

import statistics
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from benchmarks.cli_rows import Row
from benchmarks.cli_runs import Run

PAGE = Path(__file__).parents[1] / "docs" / "performance.md"
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
    """All runs of one row."""

    row: Row
    runs: dict[str, list[Run]]


def figure(values: list[float]) -> Figure:
    return Figure(statistics.median(values), min(values), max(values))


def of_wall(runs: list[Run]) -> Figure:
    return figure([run.wall_s for run in runs])


def of_cpu(runs: list[Run]) -> Figure:
    return figure([run.cpu_s for run in runs])


def of_memory(runs: list[Run]) -> Figure:
    return figure([run.peak_bytes / MEGABYTE for run in runs])


WORDS = {"wall": "wall time", "cpu": "CPU", "s": "s", "MB": "MB"}
MEASURES = {"wall": of_wall, "cpu": of_cpu, "s": of_wall, "MB": of_memory}


def shortfalls(results: list[Result]) -> Iterator[str]:
    """Yield each row where kctl is behind another client, or misses its bar."""
    for row, runs in results:
        ours = MEASURES[row.measure](runs["kctl"]).median
        for client in row.clients[1:]:
            ratio = ours / MEASURES[row.measure](runs[client.name]).median
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
    for row, runs in results:
        if row.measure == "MB":
            continue
        ours = runs["kctl"]
        for number, client in enumerate(row.clients):
            theirs = runs[client.name]
            cells = [row.name.replace("|", "\\|") if number == 0 else "", client.name]
            cells += [str(of_wall(theirs)), str(of_cpu(theirs))]
            cells += [f"{of(ours).median / of(theirs).median:.2f} x" if number else "" for of in (of_wall, of_cpu)]
            yield f"| {' | '.join(cells)} |"
    yield ""
    yield "| peak memory | client | MB |"
    yield "|---|---|---|"
    for row, runs in results:
        if row.measure == "MB":
            for number, client in enumerate(row.clients):
                name = row.name.removeprefix("peak memory, ") if number == 0 else ""
                yield f"| {name} | {client.name} | {of_memory(runs[client.name])} |"


def page_part(results: list[Result], about: dict[str, str]) -> str:
    """Return what stands between the marks of the page."""
    lines = [BEGIN, *(f"- {name}: {value}" for name, value in about.items()), "", *table(results), ""]
    behind = list(shortfalls(results))
    lines += [
        "Where kctl is behind, or misses what it is held to:",
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
        }
        for row, runs in results
    ]
    return {"about": about, "rows": rows, "behind": list(shortfalls(results))}
