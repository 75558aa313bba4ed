"""One shape for data, held for every command of the tree: what prints rows offers all five formats, and `--json`."""

import ast
import json
from collections.abc import Iterator
from typing import Any, Never

import pytest

from kctl.cli import options
from kctl.cli.click import UsageError
from kctl.cli.command_tree import Command, read_tree
from kctl.cli.formats.listing import SHAPES
from kctl.cli.output_options import Output
from tests.support.in_process import run_in_process
from tests.unit.source_trees import ROOT, nodes

ALL = tuple(shape.value for shape in SHAPES)
OTHERS = {
    "kctl consume": ("jsonl", "csv", "raw", "hex", "base64"),  # a stream of records, which are more than rows
    "kctl probe report": ("table", "json", "jsonl", "yaml"),  # a document of several tables
}
PRINT_NO_ROWS = {
    "partitions plan", "help-json", "options", "sandbox start", "sandbox fault",
    "profile use", "profile create", "profile edit", "profile delete", "profile import", "profile export",
    "profile trust", "completion bash", "completion zsh", "completion fish", "completion powershell",
    "completion install",
}  # fmt: skip
"""Commands without --output: they print nothing, or one file in a format of its own."""
READS_JSON = ("kctl produce",)
"""Commands that have formats and no --json, which would be ambiguous."""
JSON_OF = {
    "kctl consume": {"": Output.JSONL},
    "kctl probe": {
        "": Output.JSON, "--watch": Output.JSONL, "--count 2": Output.JSONL, "--interval 2s": Output.JSONL,
    },
    "kctl groups lag": {"--all": Output.JSON, "--all --watch": Output.JSONL, "--all --count 2": Output.JSONL},
    "kctl doctor": {"": Output.JSON, "--samples 2": Output.JSON},
    "kctl why group": {"--samples 2": Output.JSON},
    "kctl topics list": {"": Output.JSON, "--output json": Output.JSON},
}  # fmt: skip
"""What --json means, by command and by its options."""
COMMANDS = [each for each in read_tree().walk() if not each.commands or each.name == "kctl probe"]
SCHEMA: dict[str, Any] = json.loads((ROOT / "docs" / "schemas" / "listing.v1.json").read_text())["$defs"]


def shapes_of(command: Command) -> tuple[str, ...]:
    return next((option.values for option in command.options if "--output" in option.names), ())


PRINTING = [command for command in COMMANDS if shapes_of(command)]


@pytest.mark.parametrize("command", COMMANDS, ids=lambda command: command.name)
def test_command_that_prints_rows_offers_every_format(command: Command) -> None:
    none: tuple[str, ...] = ()
    expected = none if command.name.removeprefix("kctl ") in PRINT_NO_ROWS else OTHERS.get(command.name, ALL)
    assert shapes_of(command) == expected


@pytest.mark.parametrize("command", COMMANDS, ids=lambda command: command.name)
def test_json_is_an_option_of_each_command_with_formats(command: Command) -> None:
    has_json = bool(shapes_of(command)) and command.name not in READS_JSON
    assert any("--json" in option.names for option in command.options) == has_json


def shape_of_json(command: Command, words: tuple[str, ...], monkeypatch: pytest.MonkeyPatch) -> Output | None:
    """Return the format that a command with --json prints, read where all shared options come together."""
    found: list[Output | None] = []

    def merge(**given: Any) -> Never:
        found.append(declared(**given).output)
        raise UsageError("read")

    declared = options.common
    required = ("x" for each in command.arguments if each.is_required)
    with monkeypatch.context() as patched:
        patched.setattr(options, "common", merge)
        run_in_process(*command.path[1:], *words, *required, "--json")
    return found[0] if found else None


@pytest.mark.parametrize("command", [each for each in PRINTING if each.name in JSON_OF], ids=lambda each: each.name)
def test_json_is_jsonl_of_a_stream(command: Command, monkeypatch: pytest.MonkeyPatch) -> None:
    for words, shape in JSON_OF[command.name].items():
        assert shape_of_json(command, tuple(words.split()), monkeypatch) is shape, words


@pytest.mark.parametrize("command", PRINTING, ids=lambda command: command.name)
def test_format_that_the_command_does_not_offer_is_refused_before_it_runs(command: Command) -> None:
    ended = run_in_process(*command.path[1:], "--output", "xml")
    assert (ended.code, ended.stdout) == (2, b"")
    assert f"--output xml: this command offers {', '.join(shapes_of(command))}." in ended.stderr


def kinds() -> Iterator[str]:
    """Yield the kinds of listings in the code: the first argument of each `Listing(...)`."""
    for module in (each for file, each in nodes().items() if ROOT / "kctl" / "cli" in file.parents):
        for node in module:
            is_listing = isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "Listing"
            if is_listing and isinstance(node, ast.Call) and node.args and isinstance(node.args[0], ast.Constant):
                yield str(node.args[0].value)


def test_schema_has_the_kinds_of_the_code() -> None:
    of_code = set(kinds())
    of_documents = set(SCHEMA["facts"]["properties"]["kind"]["enum"])
    assert of_code <= of_documents | {"why"}, "why has a schema of its own"
    assert len(of_code) > 20
