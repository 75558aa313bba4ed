"""`kctl help-json`: holds to its schema, and says of each command what its help says."""

import json
from pathlib import Path

import jsonschema

from kctl.cli.exit_codes import ExitCode
from tests.support.in_process import run_in_process

SCHEMA = json.loads((Path(__file__).parents[3] / "docs" / "schemas" / "help.v1.json").read_text())


def test_help_json_matches_its_schema() -> None:
    ended = run_in_process("help-json")
    assert (ended.code, ended.stderr) == (ExitCode.OK, "")
    told = json.loads(ended.stdout)
    jsonschema.validate(told, SCHEMA)
    assert {each["code"]: each["text"] for each in told["exit_codes"]} == {int(code): code.text for code in ExitCode}


def test_each_subcommand_is_told_and_each_command_has_one_above() -> None:
    commands = {each["name"]: each for each in json.loads(run_in_process("help-json").stdout)["commands"]}
    below = [name for each in commands.values() for name in each["subcommands"]]
    assert sorted([*below, "kctl"]) == sorted(commands)
