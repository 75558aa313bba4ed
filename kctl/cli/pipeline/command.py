"""Command group `kctl pipeline`."""

from typing import Any

from kctl.cli import click
from kctl.cli.commands import Commands, Group
from kctl.cli.pipeline.export import export
from kctl.cli.pipeline.file_import import import_
from kctl.cli.pipeline.mirror import mirror
from kctl.cli.pipeline.replay import replay
from kctl.cli.pipeline.stats import stats
from kctl.cli.pipeline.status import status
from kctl.cli.pipeline.sync import sync
from kctl.cli.pipeline.verify import verify


class PipelineGroup(Group):
    """Command group that rejects former command names with a hint."""

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        if args[:1] == ["report"]:
            raise click.UsageError("No such command 'report': it is now kctl probe report FILE...", ctx)
        return super().resolve_command(ctx, args)


app = Commands(cls=PipelineGroup, no_args_is_help=True)


@app.callback()
def pipeline() -> None:
    """Export, import, mirror, replay, and analyze topics with Spark.

    Jobs run on this machine, or on a cluster with --master. Run a job again to continue. Needs the extra `spark` (pip
    install '.[spark]' in a checkout) and Java 17.
    """


app.command("export")(export)
app.command("import")(import_)
app.command("mirror")(mirror)
app.command("replay")(replay)
app.command("stats")(stats)
app.command("status")(status)
app.command("sync")(sync)
app.command("verify")(verify)
