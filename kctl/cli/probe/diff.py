"""`kctl probe --diff BEFORE AFTER`: what changed between two saved results.

Reads the files and prints; what a change is, `view/diff.py` knows.
"""

from pathlib import Path

from kctl.cli.data_out import DataOut
from kctl.cli.document_file import read_document
from kctl.cli.exit_codes import ExitCode
from kctl.cli.failures import CommandError
from kctl.cli.options import Common
from kctl.cli.output_options import Output
from kctl.cli.probe.view.diff import Summary, differences, read_summary
from kctl.client.wording import one_line

LARGEST_FILE_BYTES = 256 * 1024 * 1024


def show_differences(common: Common, before: Path, after: Path, *, strict: bool) -> int:
    """Print what changed from one saved result to another; return 3 for any change when that is wanted.

    Raises: CommandError: a file cannot be read, or is no saved result.
    """
    common.choose_output(Output.TABLE)
    found = differences(_read(before), _read(after))
    out = DataOut(common.environment.stdout)
    for difference in found:
        out.write_line(one_line(str(difference)))
    if not found and not common.quiet:
        out.write_line("no difference")
    out.flush()
    return ExitCode.DEGRADED if found and strict else ExitCode.OK


def _read(path: Path) -> Summary:
    content = read_document(path, LARGEST_FILE_BYTES)
    try:
        return read_summary(content.decode())
    except UnicodeDecodeError as e:
        raise CommandError(ExitCode.DATA, f"{path}: byte {e.start} is not UTF-8") from None
    except ValueError as e:
        raise CommandError(ExitCode.DATA, f"{path}: {e}") from None
