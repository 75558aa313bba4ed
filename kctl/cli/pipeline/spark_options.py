"""The options that every job has, declared once, and running a job with them.

A job is a function of the properties for its tasks, how to start Spark, and whom to tell how far it is.
Shown by tests/cli/test_pipeline.py and tests/pipeline/test_export_command.py.
"""

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, NamedTuple, TypeVar

import click
import typer

from kctl.cli.options import Common
from kctl.cli.settings import Setting

if TYPE_CHECKING:
    from kctl.pipeline.running import OnProgress
    from kctl.pipeline.session import SessionOptions

T = TypeVar("T")

MasterOption = Annotated[
    str, typer.Option("--master", metavar="URL", help="Where Spark runs: local[N], local[*] or spark://HOST:PORT.")
]
SparkConfOption = Annotated[
    list[str] | None,
    typer.Option("--spark-conf", metavar="KEY=VALUE", help="A property of Spark; repeatable. Never a secret."),
]
SparkLogOption = Annotated[
    Path | None, typer.Option("--spark-log", metavar="FILE", help="Where Spark's log goes; else it is kept on errors.")
]
WorkerPythonOption = Annotated[
    str | None,
    typer.Option(
        "--worker-python", metavar="PATH", help="Python of a cluster's workers; else $PYSPARK_PYTHON, or ours."
    ),
]
DryRunOption = Annotated[
    bool, typer.Option("--dry-run", help="Show the plan: splits, bytes and tasks. Changes nothing.")
]


class SparkChoice(NamedTuple):
    """What the options about Spark came to."""

    master: str
    properties: Mapping[str, str]
    log_path: Path | None
    worker_python: str | None

    @property
    def is_local(self) -> bool:
        return self.master.startswith("local")

    def session_options(self) -> "SessionOptions":
        """Return them as the pipeline takes them."""
        from kctl.pipeline.session import SessionOptions

        return SessionOptions(self.master, self.properties, self.log_path, self.worker_python)


def spark_choice(
    master: str, spark_conf: Sequence[str] | None, spark_log: Path | None, worker_python: str | None
) -> SparkChoice:
    """Return the choice. Raises: click.BadParameter: what is no master or no property."""
    import re

    if re.fullmatch(r"local(\[(\d+|\*)(,\d+)?\])?|spark://[^\s/]+:\d+", master) is None:
        problem = f"{master[:80]!r} is none of local, local[2], local[*] and spark://HOST:PORT"
        raise click.BadParameter(problem, param_hint="'--master'")
    properties = {}
    for text in spark_conf or ():
        key, equals, value = text.partition("=")
        if not equals or not key.startswith("spark."):
            raise click.BadParameter(f"{text[:80]!r} is not spark.KEY=VALUE", param_hint="'--spark-conf'")
        properties[key] = value
    return SparkChoice(master, properties, spark_log, worker_python)


def run_job(
    common: Common, choice: SparkChoice, name: str, job: "Callable[[dict[str, object], SessionOptions, OnProgress], T]"
) -> T:
    """Run a job: with the properties for its tasks, and a view of how far it is."""
    from kctl.cli.view.job_status import JobStatus
    from kctl.pipeline.references import lent

    properties = task_properties(common.settings.by_name, is_local=choice.is_local)
    with lent(properties) as referring:
        status = JobStatus(common.environment, name, wanted=not common.quiet)
        try:
            return job(referring, choice.session_options(), status.take)
        finally:
            status.close()


def task_properties(settings: Mapping[str, Setting], *, is_local: bool) -> dict[str, object]:
    """Return the Kafka properties of tasks: on a cluster a secret is a reference to where it was found.

    Raises: CommandError: a secret that only this machine has.
    """
    from kctl.cli.exit_codes import ExitCode
    from kctl.cli.failures import CommandError
    from kctl.pipeline.references import SECRET_NAMES

    found: dict[str, object] = {}
    for name, setting in settings.items():
        found[name] = setting.value
        if is_local or name not in SECRET_NAMES:
            continue
        if setting.origin.startswith("$"):
            found[name] = f"env:{setting.origin[1:]}"
        elif Path(setting.origin).is_file():
            found[name] = f"file:{Path(setting.origin).absolute()}#{name}"
        else:
            raise CommandError(
                ExitCode.USAGE,
                f"{name} of {setting.origin} is known on this machine only, and is not sent to the workers",
                "put it into a file that each worker has at the same path, with mode 0600, for --command-config",
            )
    return found
