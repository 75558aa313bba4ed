"""Help of commands: arguments, options and examples. Common options are in sections."""

import inspect
from collections.abc import Iterator
from typing import Any

from typer.models import ArgumentInfo

from kctl.cli.examples import EXAMPLES

WIDEST_NAMES = 30
"""Maximum columns of option names; longer ones have a separate line."""
SECTIONS = {
    "Connection": ("--bootstrap", "--security-protocol", "-X", "--command-config", "--profile"),
    "Timeouts": ("--api-timeout", "--connect-timeout", "--request-timeout", "--close-timeout", "--fail-fast"),
    "Output": ("--output", "--json", "--quiet", "--verbose", "--trace", "--trace-file"),
}
"""Sections of `kctl options`, in order."""
COMMON = "Run `kctl options` to show connection, timeout, and output options."
"""The line of each help that refers to the common options."""
_METAVARS = {"integer": "N", "integer range": "N", "path": "PATH"}


def write_sections(command: Any, ctx: Any, formatter: Any) -> None:
    """Write the arguments, options, and a reference to the common options."""
    common = common_options(command, ctx)
    rows: dict[str, list[tuple[str, str]]] = {"Arguments": [], "Options": []}
    for each in _shown(command, ctx):
        if each.param_type_name == "argument":
            rows["Arguments"].append((argument_name(each), _with_facts(argument_help(command, each), each)))
        elif each not in common or "--output" in each.opts:  # the formats differ between commands
            rows["Options"].append(_row(each))
    _write_rows(rows, formatter)
    if common:
        formatter.write_paragraph()
        formatter.write_text(COMMON)


def write_common_options(command: Any, ctx: Any, formatter: Any) -> None:
    common = common_options(command, ctx)
    _write_rows(
        {title: [_row(each) for each in common if set(each.opts) & set(SECTIONS[title])] for title in SECTIONS},
        formatter,
    )


def common_options(command: Any, ctx: Any) -> list[Any]:
    """Return the options shared with other commands; empty if the command does not connect to a cluster."""
    shown = list(_shown(command, ctx))
    if not any("--api-timeout" in each.opts for each in shown):
        return []
    return [each for each in shown if any(set(each.opts) & set(names) for names in SECTIONS.values())]


def _shown(command: Any, ctx: Any) -> Iterator[Any]:
    return (each for each in command.get_params(ctx) if not getattr(each, "hidden", False))


def _row(option: Any) -> tuple[str, str]:
    return _option_names(option), _with_facts(option.help or "", option)


def _write_rows(rows: dict[str, list[tuple[str, str]]], formatter: Any) -> None:
    for title, section in rows.items():
        if section:
            with formatter.section(title):
                formatter.write_dl(section, column_of_names(formatter))


def write_commands(commands: Iterator[tuple[str, Any]], formatter: Any) -> None:
    """Write the commands of a group, each with the first paragraph of its help."""
    shown = [(name, command.help or "") for name, command in commands if not command.hidden]
    rows = [(name, " ".join(text.split("\n\n")[0].split())) for name, text in shown]
    with formatter.section("Commands"):
        formatter.write_dl(rows, column_of_names(formatter))


def write_examples(path: str, formatter: Any) -> None:
    examples = EXAMPLES.get(path, ())
    if examples:
        with formatter.section("Examples"):
            for example in examples:
                formatter.write(f"  # {example.text}\n  {example.line}\n")


def column_of_names(formatter: Any) -> int:
    return min(WIDEST_NAMES, int(formatter.width) // 2)


def argument_name(declared: Any) -> str:
    return str(declared.metavar or declared.human_readable_name.upper())


def argument_help(command: Any, declared: Any) -> str:
    """Return the help of an argument from its declaration, because typer below 0.21 loses it with click 8.5."""
    parameters = inspect.signature(command.callback).parameters if command.callback else {}
    annotation = parameters[declared.name].annotation if declared.name in parameters else None
    found = [each for each in getattr(annotation, "__metadata__", ()) if isinstance(each, ArgumentInfo)]
    return str((found[0].help if found else declared.help) or "")


def usage_of_arguments(command: Any, ctx: Any) -> Iterator[str]:
    """Yield the names of the arguments in order. Optional arguments are in brackets."""
    for each in command.get_params(ctx):
        if each.param_type_name == "argument":
            name = argument_name(each)
            yield name if each.required or name.startswith("[") else f"[{name}]"


def _option_names(declared: Any) -> str:
    metavar = "" if declared.is_flag else declared.metavar or _METAVARS.get(declared.type.name, "TEXT")
    if "--output" in declared.opts:  # its help has the list
        metavar = "FORMAT"
    names = ", ".join(sorted(declared.opts, key=lambda name: name.startswith("--")))
    off = ", ".join(declared.secondary_opts)
    return " / ".join(filter(None, [names, off])) + (f" {metavar}" if metavar else "")


def _with_facts(text: str, declared: Any) -> str:
    facts = [*_default(declared), *_range(declared.type), *(["required"] if declared.required else [])]
    return f"{text} [{'; '.join(facts)}]".lstrip() if facts else text


def _default(declared: Any) -> Iterator[str]:
    default = declared.default
    if isinstance(default, str | int) and not isinstance(default, bool) and getattr(declared, "show_default", True):
        if getattr(getattr(declared.type, "func", None), "__name__", "") == "duration_ms":
            from kctl.grammar.durations import show_duration  # no command without durations imports it

            default = show_duration(int(default))
        yield f"default: {default}"


def _range(kind: Any) -> Iterator[str]:
    least, most = getattr(kind, "min", None), getattr(kind, "max", None)
    if least is not None and most is not None:
        yield f"{least} to {most}"
    elif least is not None:
        yield f"at least {least}"
