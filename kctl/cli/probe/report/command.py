"""Options of `kctl probe report`."""

from pathlib import Path, PurePath
from typing import TYPE_CHECKING, Annotated

import typer

from kctl.cli.exit_codes import ExitCode
from kctl.cli.failures import CommandError
from kctl.cli.formats.listing import DOCUMENT_SHAPES, write_document, write_lines
from kctl.cli.options import Common, with_common
from kctl.cli.output_options import Output
from kctl.cli.probe.options import CERT_WARN_MS, CertWarn
from kctl.client.wording import counted, one_line

if TYPE_CHECKING:
    from kctl.cli.probe.report.stored import StoredFile

SHAPES = (Output.TABLE, *DOCUMENT_SHAPES)


def _file_text(text: str) -> str:
    from kctl.cli.pipeline.spark_options import files_text  # deferred import: keeps --help fast

    return files_text(text)


@with_common(*SHAPES, fetches=False)
def report(
    common: Common,
    files: Annotated[
        list[str],
        typer.Argument(
            parser=_file_text,
            metavar="FILE...",
            help="Files written by probe --output jsonl or json, or by --trace-file. Also .gz files, and s3://, "
            "gs://, or abfs:// URLs of files or directories. Files are grouped by directory.",
        ),
    ],
    html: Annotated[
        Path | None, typer.Option("--html", metavar="FILE", help="File to write the report to, as an HTML page.")
    ] = None,
    cert_warn: CertWarn = CERT_WARN_MS,
    strict: Annotated[bool, typer.Option("--strict", help="Exit with 3 for any finding.")] = False,
) -> int:
    """Recommend timeouts from saved probe and trace files.

    Also reports latencies, timeouts, and certificates that expire soon, for each directory of files.
    """
    output = common.choose_output(*SHAPES)
    from kctl.cli.probe.report.reading import read_file
    from kctl.cli.probe.report.result import as_object, summarise
    from kctl.cli.probe.report.statistics import Statistics

    if html is not None:
        from kctl.cli.formats.html_page import check_page

        check_page(html)
    statistics = Statistics()
    local, stored = _existing(files, common)
    for file in local:
        read_file(str(file), place_of(file), statistics)
    for each in stored:
        read_file(each.url, place_of(each.place), statistics, each.open)
    bad = [one_line(f"{file}{f':{line}' * bool(line)}: {why}") for file, line, why in statistics.bad_samples]
    first = f" (first: {bad[0]})" if bad else ""
    if not any(node.attempts or node.requests for each in statistics.places.values() for node in each.nodes.values()):
        hint = "record results with kctl probe --watch --output jsonl >FILE, or add --trace-file FILE to any command"
        what = f"{counted(statistics.bad_lines, 'invalid line')}{first}" if bad else "no probe results or traces found"
        raise CommandError(ExitCode.DATA, f"cannot report on {counted(len(local) + len(stored), 'file')}: {what}", hint)
    found = summarise(statistics, now_ms=common.environment.clock.wall_ms(), cert_warn_ms=cert_warn)
    if output is not Output.TABLE:
        write_document(common.environment, output, as_object(found))
    else:
        from kctl.cli.probe.report.view import text_lines

        write_lines(common.environment, text_lines(found, common.environment.table_width))
    if html is not None:
        from kctl.cli.formats.html_page import write_page
        from kctl.cli.probe.report.view import page

        write_page(html, page(found))
    if bad:
        common.say(f"kctl probe: {counted(statistics.bad_lines, 'invalid line')} skipped{first}")
    return ExitCode.PARTIAL_FAILURE if strict and found.findings else ExitCode.OK


def _existing(files: list[str], common: Common) -> "tuple[list[Path], list[StoredFile]]":
    from kctl.pipeline.locations import StoreUrl, parse_location

    local, stored = [], []
    for place in dict.fromkeys(map(parse_location, files)):
        if isinstance(place, StoreUrl):
            from kctl.cli.probe.report.stored import stored_files

            stored += stored_files(place, {name: each.text for name, each in common.settings.by_name.items()})
            continue
        assert isinstance(place, Path)
        if not place.exists() or place.is_dir():
            what = "the path is a directory, not a file" if place.is_dir() else "the file does not exist"
            raise CommandError(ExitCode.USAGE, f"cannot read {place}: {what}")
        local.append(place)
    return local, stored


def place_of(file: PurePath) -> str:
    """Return the name of the directory of a file, or of the file if it has no directory."""
    return file.parent.name or file.name.partition(".json")[0]
