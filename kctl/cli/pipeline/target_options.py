"""Options of jobs with a second cluster, and its properties.

The second cluster gets the timeouts of the first, but never its credentials.
"""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, NamedTuple

import typer

from kctl.cli import click
from kctl.cli.options import Common
from kctl.cli.setting import Setting
from kctl.cli.settings import Settings, merge_settings
from kctl.client.wording import counted, one_line

if TYPE_CHECKING:
    from kctl.pipeline.export_files.cluster_facts import TopicFacts
    from kctl.pipeline.group_selection import GroupSelection
    from kctl.pipeline.jobs.cluster_facts import RefusedConfig
    from kctl.pipeline.jobs.mirror_groups import GroupOffset

ToTopicOption = Annotated[
    str | None,
    typer.Option("--to-topic", metavar="TOPIC", help="Target topic [default: the name of the source topic]."),
]
KeepPartitionsOption = Annotated[
    bool,
    typer.Option(
        "--keep-partitions", help="Keep the partitions of records. Otherwise the key determines the partition."
    ),
]
KeepTimestampsOption = Annotated[
    bool,
    typer.Option("--keep-timestamps", help="Keep the timestamps of records. Otherwise records get the current time."),
]
_LIMITS = (
    "default.api.timeout.ms",
    "max.block.ms",
    "request.timeout.ms",
    "delivery.timeout.ms",
    "socket.connection.setup.timeout.ms",
    "bootstrap.refused.timeout.ms",
)


class TargetOptions(NamedTuple):
    """Options of the target cluster; None for missing options."""

    topic: str | None
    bootstrap: str | None
    config: Path | None

    @property
    def is_given(self) -> bool:
        return self != (None, None, None)

    @property
    def is_another_cluster(self) -> bool:
        return self.bootstrap is not None or self.config is not None

    @contextmanager
    def properties(self, given: Settings, *, is_local: bool) -> Iterator[dict[str, object]]:
        """Yield the Kafka properties of the target, with references in place of secrets.

        If no target cluster is given, they are the properties of the source.

        Args: given: settings of the source, whose timeouts also apply to the target.
        Raises:
            ConfigError: the file cannot be read.
            CommandError: a secret exists only on this machine.
        """
        from kctl.cli.pipeline.spark_options import task_properties
        from kctl.pipeline.references import lent

        settings: Mapping[str, Setting] = given.by_name
        if self.is_another_cluster:
            limits = {name: setting for name, setting in settings.items() if name in _LIMITS}
            flags = {} if self.bootstrap is None else {"bootstrap.servers": Setting(self.bootstrap, "--to-bootstrap")}
            settings = {**limits, **merge_settings(flags, (), {}, self.config, file_flag="--to-config").by_name}
        with lent(task_properties(settings, is_local=is_local)) as referring:
            yield referring


def target_options(
    to_topic: ToTopicOption = None,
    to_bootstrap: Annotated[
        str | None,
        typer.Option(
            "--to-bootstrap", metavar="HOST:PORT", help="Bootstrap servers of the target [default: the source cluster]."
        ),
    ] = None,
    to_config: Annotated[
        Path | None, typer.Option("--to-config", metavar="FILE", help="Client properties file for the target cluster.")
    ] = None,
) -> TargetOptions:
    return TargetOptions(to_topic, to_bootstrap, to_config)


def group_selection(words: list[str] | None) -> "GroupSelection":
    """Return the groups of --groups: names, or '/pattern/'. Raises: click.BadParameter: a pattern is invalid."""
    import re

    from kctl.pipeline.group_selection import GroupSelection

    given = words or []
    patterns = [word[1:-1] for word in given if len(word) > 2 and word[0] == word[-1] == "/"]
    for pattern in patterns:
        try:
            re.compile(pattern)
        except re.error as e:
            problem = f"{pattern[:80]!r} is not a regular expression: {e}"
            raise click.BadParameter(problem, param_hint="'--groups'") from None
    names = tuple(word for word in given if word[1:-1] not in patterns)
    return GroupSelection(names, "|".join(f"(?:{pattern})" for pattern in patterns))


def say_groups(common: Common, offsets: "Sequence[GroupOffset]") -> None:
    """Print each group offset that was committed or failed."""
    from kctl.pipeline.jobs.mirror_groups import ALREADY_THERE

    for each in offsets:
        where = one_line(f"group {each.group} on {each.topic}-{each.partition}")
        what = f"continues at offset {each.target_offset}" if not each.problem else f"offset not copied: {each.problem}"
        if each.problem != ALREADY_THERE:
            common.say(f"kctl pipeline: {where}: {what}")


def facts_text(facts: "TopicFacts") -> str:
    configs = one_line(", ".join(f"{name}={value}" for name, value in sorted((facts.configs or {}).items())))
    return counted(facts.partitions, "partition") + (f" and {configs}" if configs else "")


def say_refused_configs(common: Common, refused: "Sequence[RefusedConfig]") -> None:
    for each in refused:
        config = one_line(f"{each.name}={each.value}")
        common.say(f"kctl pipeline: cannot set config {config} of topic {each.topic}: {each.reason}")


def say_problems(common: Common, problems: Sequence[str]) -> None:
    """Print each config that would make the target delete or reject records."""
    for each in problems:
        common.say(f"kctl pipeline: the target would lose records: {one_line(each)}")
