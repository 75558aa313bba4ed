"""The typer application of a module, and extensions of typer's commands.

Commands accept option names of other tools, and shared options before the command name. Arguments and values of options
must be UTF-8, except paths of files and the content of records.
"""

import copy
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any

import typer
from typer.core import TyperCommand, TyperGroup, TyperOption
from typer.models import CommandFunctionType

from kctl.cli.click import PARSER_ERRORS, BadParameter, HelpWanted, UsageError
from kctl.cli.other_tools import ARGUMENT, FLAGS, VALUES, options_of, subcommand_of

_PATHS = frozenset({"DIR", "FILE", "FOLDER", "LOCATION", "PATH", "PLAN"})
"""Metavars of paths, which can have any bytes."""
_RECORD_OPTIONS = frozenset({"--delimiter", "--format", "--grep", "--header", "--key", "--key-separator", "--null"})
"""Options with the content of records, which can have any bytes."""


class Command(TyperCommand):
    """A command of kctl."""

    def make_parser(self, ctx: Any) -> Any:
        return _with_other_names(super().make_parser(ctx), self, ctx)

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Parse the arguments. Raises: BadParameter: a value is not UTF-8; UsageError: a value is missing."""
        given = note_form_of_errors(ctx, self.make_parser(ctx), args)
        _refuse_missing_values(self, ctx, (), args)
        rest = super().parse_args(ctx, [*_named_arguments(ctx, given), *args])
        _refuse_other_encodings(self, ctx)
        return rest

    def collect_usage_pieces(self, ctx: Any) -> list[str]:
        from kctl.cli.help_sections import usage_of_arguments  # wanted for help alone

        return [self.options_metavar or "", *usage_of_arguments(self, ctx)]

    def format_options(self, ctx: Any, formatter: Any) -> None:
        from kctl.cli.help_sections import write_examples, write_sections

        write_sections(self, ctx, formatter)
        write_examples(ctx.command_path, formatter)


class Group(TyperGroup):
    """A command group. Without a subcommand, its help is shown as an error."""

    def make_parser(self, ctx: Any) -> Any:
        return _with_other_names(super().make_parser(ctx), self, ctx)

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Parse the arguments up to the subcommand. Raises: HelpWanted: there is no subcommand."""
        args = self.arrange(ctx, args)
        if not args and self.no_args_is_help and not ctx.resilient_parsing:
            raise HelpWanted(ctx.get_help())
        rest = super().parse_args(ctx, args)
        _refuse_other_encodings(self, ctx)
        return rest

    def arrange(self, ctx: Any, args: list[str]) -> list[str]:
        """Return the arguments with the subcommand before the shared options."""
        note_form_of_errors(ctx, self.make_parser(ctx), args)
        is_command = any("--api-timeout" in each.opts for each in self.params)  # it reads the shared options itself
        if is_command:
            _refuse_missing_values(self, ctx, (), args)
        return args if is_command or not args or not args[0].startswith("-") else self.move_shared_options(ctx, args)

    def parser_of_all(self, ctx: Any) -> Any:
        from kctl.cli.options import shared_options  # deferred import: the commands that need no cluster do without

        parser, shared = self.make_parser(ctx), shared_options()
        for option in (*shared, *_other_options(self, ctx, [*_declared(self, ctx), *shared])):
            option.add_to_parser(parser, ctx)
        return parser

    def move_shared_options(self, ctx: Any, args: list[str]) -> list[str]:
        """Move the subcommand before the options that precede it. Return an empty list if there is no subcommand."""
        from kctl.cli.options import shared_options  # deferred import: the commands that need no cluster do without

        _refuse_missing_values(self, ctx, shared_options(), args)
        try:
            _, rest, order = self.parser_of_all(ctx).parse_args(list(args))
        except PARSER_ERRORS:  # an option of the subcommand before a flag for the subcommand
            flags = FLAGS.get(self.name or "", {})
            at = next((at for at, word in enumerate(args) if word in flags), None)
            if at is None:
                raise
            return [flags[args[at]], *args[:at], *args[at + 1 :]]
        ending = [each for each in order if each.is_eager]  # --help
        if ending:
            return [ending[0].opts[0]]
        if not rest:
            return []
        words = self.translate(rest)
        return [*words[:1], *args[: len(args) - len(rest)], *words[1:]]

    def translate(self, words: list[str]) -> list[str]:
        """Return the arguments, of which the first is the subcommand, with names of other tools replaced by kctl's
        names.
        """
        return words

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        name = args[0] if args[0] in self.commands else subcommand_of(self.name or "", args[0])
        return super().resolve_command(ctx, [name, *args[1:]])

    def format_options(self, ctx: Any, formatter: Any) -> None:
        from kctl.cli.help_sections import write_examples, write_sections

        write_sections(self, ctx, formatter)
        self.format_commands(ctx, formatter)
        write_examples(ctx.command_path, formatter)

    def format_commands(self, ctx: Any, formatter: Any) -> None:  # noqa: ARG002 - typer's signature
        from kctl.cli.help_sections import write_commands

        write_commands(iter(self.commands.items()), formatter)


class Commands(typer.Typer):
    """A typer application with commands of kctl and plain-text help."""

    def __init__(self, *, cls: type[Group] = Group, **given: Any) -> None:
        super().__init__(cls=cls, rich_markup_mode=None, add_completion=False, **given)

    def command(
        self, name: str | None = None, *, cls: type[TyperCommand] | None = None, **given: Any
    ) -> Callable[[CommandFunctionType], CommandFunctionType]:
        return super().command(name, cls=cls or Command, **given)


def _with_other_names(parser: Any, command: Any, ctx: Any) -> Any:
    for option in _other_options(command, ctx, _declared(command, ctx)):
        option.add_to_parser(parser, ctx)
    return parser


def _declared(command: Any, ctx: Any) -> list[Any]:
    return [each for each in command.get_params(ctx) if each.param_type_name == "option"]


def _by_name(options: Iterable[Any]) -> dict[str, Any]:
    return {name: each for each in options for name in (*each.opts, *each.secondary_opts)}


def _other_options(command: Any, ctx: Any, options: Iterable[Any]) -> list[Any]:
    """Return the options of other tools that a command accepts. The command's own options have precedence."""
    known, found = _by_name(options), []
    for name, meant in options_of(ctx.command_path.partition(" ")[2]).items():
        if name in known:
            continue
        if meant in known:
            option = copy.copy(known[meant])
            option.opts, option.secondary_opts = [name], []
        elif meant == ARGUMENT and not isinstance(command, Group):
            option = TyperOption(param_decls=[_parameter_of(name), name], multiple=True)
        elif meant == "":
            option = TyperOption(param_decls=["ignored", name], is_flag=True)
        else:
            continue
        found.append(option)
    return found


def _refuse_missing_values(command: Any, ctx: Any, shared: Sequence[Any], args: Sequence[str]) -> None:
    """Raise UsageError if an option is in the place of a value, up to the subcommand.

    Values after an equals sign, as in --format=-b, are not checked.
    """
    declared = [*_declared(command, ctx), *shared]
    options = _by_name([*declared, *_other_options(command, ctx, declared)])
    words = iter(args)
    for word in words:
        if word == "--" or (isinstance(command, Group) and not word.startswith("-")):
            return
        name = _before_value(word, options)
        value = None if name is None else next(words, None)
        if name is not None and value is not None and value.partition("=")[0] in options:
            error = UsageError(f"Missing value for {name}: the next argument {value!r} looks like an option.", ctx)
            long = next((each for each in options[name].opts if each.startswith("--")), None)
            written = f"{name}{value}" if long is None else f"{long}={value}"
            error.hint = f"to pass {value} as the value, write {written}"
            raise error


def _before_value(word: str, options: Mapping[str, Any]) -> str | None:
    """Return the option in `word` whose value is the next word, or None if there is no such option."""
    option = options.get(word)
    if option is not None:
        return None if option.is_flag or option.count else word
    for at, letter in enumerate(word[1:] if word[:1] == "-" and word[:2] != "--" else "", 2):
        option = options.get(f"-{letter}")
        if option is None or not (option.is_flag or option.count):
            return f"-{letter}" if option is not None and at == len(word) else None
    return None


def note_form_of_errors(ctx: Any, parser: Any, args: list[str]) -> Mapping[str, Any]:
    """Return the parsed options, or an empty dict if they are invalid. --output json switches errors to JSON."""
    parser.ignore_unknown_options = parser.allow_interspersed_args = True
    TyperOption(param_decls=["output", "--output"]).add_to_parser(parser, ctx)  # even if the command prints no data
    TyperOption(param_decls=["as_json", "--json"], is_flag=True).add_to_parser(parser, ctx)
    try:
        given: Mapping[str, Any] = parser.parse_args(list(args))[0]
    except PARSER_ERRORS:
        given = {}
    if ctx.obj is not None:  # a context that only parses has no environment
        as_json = bool(given.get("as_json")) or str(given.get("output")).lower() in ("json", "jsonl")
        ctx.obj = ctx.find_root().obj = ctx.obj._replace(errors_as_json=as_json)
    return given


def _named_arguments(ctx: Any, given: Mapping[str, Any]) -> list[str]:
    found = []
    for name, meant in options_of(ctx.command_path.partition(" ")[2]).items():
        for value in given.get(_parameter_of(name), ()) if meant == ARGUMENT else ():
            if value.startswith("-") and value != "-":
                raise UsageError(f"Missing value for {name}: the next argument {value!r} looks like an option.", ctx)
            found.append(VALUES.get(name, {}).get(value, value))
    return found


def _parameter_of(name: str) -> str:
    return f"named_{name.strip('-').replace('-', '_')}"


def _refuse_other_encodings(command: Any, ctx: Any) -> None:
    """Raise BadParameter if a value is not UTF-8, and is neither a path nor the content of records."""
    for parameter in command.params:
        if _RECORD_OPTIONS.isdisjoint(parameter.opts):
            for text in _texts(ctx.params.get(parameter.name), parameter.metavar or ""):
                if any("\udc80" <= char <= "\udcff" for char in text):
                    raise BadParameter(f"{text!r} is not valid UTF-8.", ctx, parameter)


def _texts(value: object, metavar: str) -> Iterator[str]:
    """Yield the values of a parameter that are not paths. ASCII values are left out."""
    values = value if isinstance(value, list | tuple) else [value]
    first, *others = metavar.split() or [""]
    if first.strip("[].") in _PATHS:
        return
    if others and others[-1].strip("[].") in _PATHS:  # TOPIC [FILE]...
        values = values[:1]
    for each in values:
        is_path = metavar == "KEY=VALUE" and isinstance(each, str) and each.partition("=")[0].endswith(".location")
        if isinstance(each, str) and not each.isascii() and not is_path:
            yield each
