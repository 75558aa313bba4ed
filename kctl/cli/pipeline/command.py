"""`kctl pipeline`: the commands, a module each, which hold options alone. Shown by tests/cli/test_pipeline.py."""

import typer

from kctl.cli.pipeline.export import export
from kctl.cli.pipeline.file_import import import_
from kctl.cli.pipeline.mirror import mirror
from kctl.cli.pipeline.report import report
from kctl.cli.pipeline.verify import verify

app = typer.Typer(rich_markup_mode=None, add_completion=False, no_args_is_help=True)


@app.callback()
def pipeline() -> None:
    """Move many records with Spark: to files and back, checked, mirrored.

    On this machine, or on a cluster with --master; run again, a job goes on where it ended.
    Needs the extra `spark` (pip install '.[spark]' in a checkout) and Java 17.
    """


app.command("export")(export)
app.command("import")(import_)
app.command("mirror")(mirror)
app.command("verify")(verify)
app.command("report")(report)
