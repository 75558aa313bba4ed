"""`kctl why`: problems of a group, a topic or the cluster, with evidence."""

import itertools
from typing import Annotated, Any

import typer

from kctl.cli import click
from kctl.cli.commands import Commands, Group
from kctl.cli.formats.listing import SHAPES
from kctl.cli.options import Common, with_common, with_options
from kctl.cli.why.options import WhyOptions, why_options

NAMED = "named"


class WhyGroup(Group):
    """The commands of `kctl why`. A name without a command selects the group or topic with this name."""

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        """Return the command that the first word names. If it is another name, return the command that looks it up.

        Raises: click.UsageError: several names are given.
        """
        is_name = args[0] not in self.commands and not args[0].startswith("-") and not _is_word(args[1:2])
        if not is_name and args[0] not in self.commands and not args[0].startswith("-") and not self._is_near(args[0]):
            names = itertools.takewhile(lambda word: not word.startswith("-"), args)
            raise click.UsageError(
                f"kctl why accepts one name. Run {' and '.join(f'kctl why {name}' for name in names)}.", ctx
            )
        return super().resolve_command(ctx, [NAMED, *args] if is_name else args)

    def _is_near(self, word: str) -> bool:
        from difflib import get_close_matches  # wanted only for mistakes

        return bool(get_close_matches(word[:80], self.commands, n=1))

    def list_commands(self, ctx: Any) -> list[str]:
        return [name for name in super().list_commands(ctx) if name != NAMED]


def _is_word(words: list[str]) -> bool:
    return any(not word.startswith("-") for word in words)


app = Commands(cls=WhyGroup, no_args_is_help=True)


@app.callback()
def why() -> None:
    """Find problems with a group, a topic, or the cluster.

    kctl why NAME checks the group and the topic with this name.

    Prints findings with evidence, impact, and a command to fix the problem. kctl only sends read requests and never
    runs the fix.

    Exits with 3 if a warning or an error was found.
    """


@app.command()
@with_common(*SHAPES)
@with_options(options=why_options)
def group(
    common: Common,
    name: Annotated[str, typer.Argument(metavar="GROUP", show_default=False)],
    options: WhyOptions,
) -> int:
    """Find out why a consumer group is stuck or slow."""
    from kctl.cli.why.run import show_group  # the client: not wanted for --help

    return show_group(common, name, options)


@app.command()
@with_common(*SHAPES)
@with_options(options=why_options)
def topic(
    common: Common,
    name: Annotated[str, typer.Argument(metavar="TOPIC", show_default=False)],
    options: WhyOptions,
) -> int:
    """Find problems with a topic: leaders, replicas, timestamps, and configs."""
    from kctl.cli.why.run import show_topic  # the client: not wanted for --help

    return show_topic(common, name, options)


@app.command()
@with_common(*SHAPES)
@with_options(options=why_options)
def cluster(common: Common, options: WhyOptions) -> int:
    """Find problems with brokers, controllers, disks, and all topics."""
    from kctl.cli.why.run import show_cluster  # the client: not wanted for --help

    return show_cluster(common, options)


@app.command(NAMED, hidden=True)
@with_common(*SHAPES)
@with_options(options=why_options)
def named(
    common: Common,
    name: Annotated[str, typer.Argument(metavar="NAME", show_default=False)],
    options: WhyOptions,
) -> int:
    """Find problems with the group or topic of this name."""
    from kctl.cli.why.run import show_named  # the client: not wanted for --help

    return show_named(common, name, options)
