"""`kctl help-json`: all commands, arguments, options and exit codes as one JSON object (docs/schemas/help.v1.json)."""

from typing import TYPE_CHECKING, Any

import typer

from kctl.cli.commands import Commands
from kctl.cli.data_out import DataOut
from kctl.cli.environment import Environment
from kctl.cli.exit_codes import ExitCode
from kctl.version import VERSION

if TYPE_CHECKING:
    from kctl.cli.command_tree import Command, Option

SCHEMA_VERSION = 1

app = Commands()


@app.command("help-json")
def help_json(ctx: typer.Context) -> int:
    """Print all commands, arguments, options, and exit codes as JSON.

    The schema is docs/schemas/help.v1.json. Later releases may add fields. Any other change increases `v`.
    """
    import json  # wanted only here

    environment: Environment = ctx.obj
    out = DataOut(environment.stdout)
    out.write_line(json.dumps(all_help(), indent=2))
    out.flush()
    return ExitCode.OK


def all_help() -> dict[str, Any]:
    from kctl.cli.command_tree import read_tree  # every command: wanted only here

    return {
        "v": SCHEMA_VERSION,
        "version": VERSION,
        "exit_codes": [{"code": int(code), "name": code.name, "text": code.text} for code in ExitCode],
        "commands": [_command(command) for command in read_tree().walk()],
    }


def _command(command: "Command") -> dict[str, Any]:
    return {
        "name": command.name,
        "summary": command.summary,
        "text": list(command.text),
        "subcommands": [each.name for each in command.commands],
        "arguments": [
            {
                "metavar": each.metavar,
                "help": each.help,
                "required": each.is_required,
                "repeatable": each.is_repeatable,
            }
            for each in command.arguments
        ],
        "options": [_option(each) for each in command.options],
    }


def _option(option: "Option") -> dict[str, Any]:
    return {
        "names": list(option.names),
        "off_names": list(option.off),
        "metavar": option.metavar or None,
        "words": option.words,
        "type": option.type,
        "values": list(option.values) or None,
        "default": option.default or None,
        "property": option.property or None,
        "help": option.help,
        "required": option.is_required,
        "repeatable": option.is_repeatable,
        "common": option.is_common,
    }
