"""Commands: the typer application of a module, and what each of its commands does beyond typer's own.

Arguments that are not UTF-8 are refused; help is written in sections, with examples.
"""

from collections.abc import Callable, Iterator
from typing import Any

import typer
from typer.core import TyperCommand, TyperGroup
from typer.models import CommandFunctionType

from kctl.cli.click import BadParameter, HelpWanted
from kctl.cli.spellings import translate, wants_json


class Command(TyperCommand):
    """A command of kctl."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Read the options and arguments. Raises: BadParameter: an argument is not UTF-8."""
        rest = super().parse_args(ctx, _translated(self, ctx, args, is_group=False))
        for parameter in self.params:
            if parameter.param_type_name == "argument":
                for text in _texts(ctx.params.get(parameter.name)):
                    if any("\udc80" <= char <= "\udcff" for char in text):
                        raise BadParameter(f"{text!r} is not UTF-8.", ctx, parameter)
        return rest

    def collect_usage_pieces(self, ctx: Any) -> list[str]:
        """Return what follows the name of the command in its usage."""
        from kctl.cli.help_sections import usage_of_arguments  # wanted for help alone

        return [self.options_metavar or "", *usage_of_arguments(self, ctx)]

    def format_options(self, ctx: Any, formatter: Any) -> None:
        """Write the sections of arguments and options, and the examples."""
        from kctl.cli.help_sections import write_examples, write_sections

        write_sections(self, ctx, formatter)
        write_examples(ctx.command_path, formatter)


class Group(TyperGroup):
    """A group of commands; without one it shows its help, as an error."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Read the options up to the name of a command. Raises: HelpWanted: there is no name."""
        if not args and self.no_args_is_help and not ctx.resilient_parsing:
            raise HelpWanted(ctx.get_help())
        return super().parse_args(ctx, _translated(self, ctx, args, is_group=True))

    def format_options(self, ctx: Any, formatter: Any) -> None:
        """Write the sections of options, the commands and the examples."""
        from kctl.cli.help_sections import write_examples, write_sections

        write_sections(self, ctx, formatter)
        self.format_commands(ctx, formatter)
        write_examples(ctx.command_path, formatter)

    def format_commands(self, ctx: Any, formatter: Any) -> None:  # noqa: ARG002 - typer's signature
        """Write the commands with what each does."""
        from kctl.cli.help_sections import write_commands

        write_commands(iter(self.commands.items()), formatter)


class Commands(typer.Typer):
    """The application of a module: its commands are those above, and their help is plain text."""

    def __init__(self, *, cls: type[Group] = Group, **given: Any) -> None:
        super().__init__(cls=cls, rich_markup_mode=None, add_completion=False, **given)

    def command(
        self, name: str | None = None, *, cls: type[TyperCommand] | None = None, **given: Any
    ) -> Callable[[CommandFunctionType], CommandFunctionType]:
        """Return a decorator that makes a function the command of that name."""
        return super().command(name, cls=cls or Command, **given)


def _translated(command: Any, ctx: Any, args: list[str], *, is_group: bool) -> list[str]:
    options = [each for each in command.get_params(ctx) if each.param_type_name == "option"]
    known = {name: 0 if each.is_flag else each.nargs for each in options for name in (*each.opts, *each.secondary_opts)}
    args = translate(args, known, ctx.command_path.partition(" ")[2], is_group=is_group)
    if ctx.obj is not None:  # a context that only parses has no environment
        ctx.obj = ctx.find_root().obj = ctx.obj._replace(errors_as_json=wants_json(args))
    return args


def _texts(value: object) -> Iterator[str]:
    for each in value if isinstance(value, list | tuple) else [value]:
        if isinstance(each, str) and not each.isascii():
            yield each
