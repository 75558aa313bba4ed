"""`kctl probe report`: its options; the modules beside it are imported when it runs.

Shown by tests/cli/test_probe_report.py.
"""

from pathlib import Path
from typing import Annotated

import typer

from kctl.cli.exit_codes import ExitCode
from kctl.cli.failures import CommandError
from kctl.cli.formats.listing import DOCUMENT_SHAPES, write_document, write_lines
from kctl.cli.options import Common, Output, with_common
from kctl.cli.probe.options import CERT_WARN_MS, CertWarn
from kctl.client.wording import harmless_text

SHAPES = (Output.TABLE, *DOCUMENT_SHAPES)


@with_common(*SHAPES, fetches=False)
def report(
    common: Common,
    files: Annotated[
        list[Path],
        typer.Argument(
            metavar="FILE...",
            help="Files of probe --output jsonl or json and of --trace-file, also .gz; a folder's name is a place.",
        ),
    ],
    html: Annotated[
        Path | None, typer.Option("--html", metavar="FILE", help="Write the report as an HTML page too.")
    ] = None,
    cert_warn: CertWarn = CERT_WARN_MS,
    strict: Annotated[bool, typer.Option("--strict", help="Exit with 3 for any finding.")] = False,
) -> int:
    """Report on saved probe and trace files.

    For each place: percentiles of each phase and request, expired attempts, certificates that expire, and the
    --connect-timeout, --request-timeout and --api-timeout to use, with the false expiries to expect.
    """
    output = common.choose_output(*SHAPES)
    from kctl.cli.probe.report.reading import read_file
    from kctl.cli.probe.report.result import as_object, summarise
    from kctl.cli.probe.report.statistics import Statistics

    statistics = Statistics()
    for path in dict.fromkeys(files):
        if not path.exists() or path.is_dir():
            what = "a folder; name its files" if path.is_dir() else "no such file"
            raise CommandError(ExitCode.USAGE, f"{path}: {what}")
    for path in dict.fromkeys(files):
        read_file(str(path), place_of(path), statistics)
    bad = [harmless_text(f"{file}{f':{line}' * bool(line)}: {why}") for file, line, why in statistics.bad_samples]
    first = f", the first: {bad[0]}" if bad else ""
    if not any(node.attempts or node.requests for each in statistics.places.values() for node in each.nodes.values()):
        hint = "kctl probe --watch --output jsonl >FILE, or --trace-file FILE on any command"
        what = f"{statistics.bad_lines} invalid lines{first}" if bad else "no probe result or trace"
        raise CommandError(ExitCode.DATA, f"nothing to report in {len(files)} files: {what}", hint)
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
        common.say(f"kctl probe: {statistics.bad_lines} invalid lines skipped{first}")
    return ExitCode.DEGRADED if strict and found.findings else ExitCode.OK


def place_of(path: Path) -> str:
    """Return the place of a file: the name of its folder, or of itself where no folder is named."""
    return path.parent.name or path.name.partition(".json")[0]
