"""The options of jobs that have a second cluster, declared once, and the properties they come to.

Nothing of the first cluster's settings but its limits goes to the second one: credentials are for whom they were given.
Shown by tests/pipeline/test_mirror_command.py.
"""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated

import typer

from kctl.cli.options import Common
from kctl.cli.settings import Setting, merge_settings

ToBootstrapOption = Annotated[
    str | None,
    typer.Option("--to-bootstrap", metavar="HOST:PORT", help="First servers of the target; else the source's cluster."),
]
ToConfigOption = Annotated[
    Path | None, typer.Option("--to-config", metavar="FILE", help="A .properties file for the target's cluster.")
]
_LIMITS = (
    "default.api.timeout.ms",
    "max.block.ms",
    "request.timeout.ms",
    "delivery.timeout.ms",
    "socket.connection.setup.timeout.ms",
)


@contextmanager
def target_properties(
    common: Common, to_bootstrap: str | None, to_config: Path | None, *, is_local: bool
) -> Iterator[dict[str, object]]:
    """Yield the Kafka properties of the target, with references in place of secrets.

    Without either option the target is the source's cluster.
    Raises: ConfigError: the file cannot be read. CommandError: a secret that only this machine has.
    """
    from kctl.cli.pipeline.spark_options import task_properties
    from kctl.pipeline.references import lent

    settings: Mapping[str, Setting] = common.settings.by_name
    if to_bootstrap is not None or to_config is not None:
        limits = {name: setting for name, setting in settings.items() if name in _LIMITS}
        flags = {"bootstrap.servers": Setting(to_bootstrap, "--to-bootstrap")} if to_bootstrap is not None else {}
        settings = {**limits, **merge_settings(flags, (), {}, to_config).by_name}
    with lent(task_properties(settings, is_local=is_local)) as referring:
        yield referring
