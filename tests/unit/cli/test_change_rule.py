"""One rule for changes, held for every command of the tree: what destroys needs --execute, and all have --dry-run.

Commands are known by their last word. Add new words to a table below.
"""

import pytest

from kctl.cli.app import command_of, root
from kctl.cli.command_tree import Command, read_tree

DESTROY = {"delete", "trim", "reset-offsets", "delete-offsets", "remove-members", "abort", "elect"}
"""What destroys records, access or positions: made with --execute or a yes on a terminal; --dry-run wins."""
CHANGE = {"create", "alter", "set", "unset", "move", "register", "config"}
"""Made at once; --dry-run shows what would be."""
BOTH = {"kctl apply": {"--execute", "--dry-run", "--yes"}, "kctl api": {"--execute", "--yes"}}
"""Commands of which some uses destroy and others do not."""
OUTSIDE = {"profile", "completion", "sandbox", "pipeline", "bench", "produce", "consume"}
"""They change no cluster, or are made for nothing else: files of the user, jobs, records."""
READ_PROFILES = {"list", "show", "check", "export"}
"""The others change profiles, which needs no confirmation."""
RULE = {"--execute", "--dry-run", "--yes"}
COMMANDS = [command for command in read_tree().walk() if len(command.path) > 1 and command.path[1] not in OUTSIDE]


def options_of(command: Command) -> set[str]:
    """Return the options of the rule that a command accepts; `--yes` is hidden if it has no effect."""
    declared = command_of(root).get_command(None, command.path[1])
    for name in command.path[2:]:
        declared = declared.commands[name]
    return {name for option in declared.params for name in option.opts} & RULE


def expected_of(command: Command) -> set[str]:
    if command.name in BOTH:
        return BOTH[command.name]
    word = command.path[-1] if len(command.path) > 2 else ""
    return RULE if word in DESTROY else {"--dry-run", "--yes"} if word in CHANGE else set()


@pytest.mark.parametrize("command", COMMANDS, ids=lambda command: command.name)
def test_command_has_the_options_of_its_class(command: Command) -> None:
    assert options_of(command) == expected_of(command)


def test_yes_is_hidden_from_the_help_of_changes_that_need_no_confirmation() -> None:
    shown = {each.name: {name for option in each.options for name in option.names} for each in COMMANDS}
    assert "--yes" in shown["kctl topics delete"]
    assert "--yes" not in shown["kctl topics create"] | shown["kctl topics alter"] | shown["kctl configs set"]


def test_whatever_changes_profiles_accepts_yes() -> None:
    (profile,) = (command for command in read_tree().walk() if command.name == "kctl profile")
    options = {command.path[-1]: options_of(command) for command in profile.commands}
    assert {name for name, found in options.items() if "--yes" not in found} == READ_PROFILES


def test_every_job_that_writes_accepts_yes_and_has_a_dry_run() -> None:
    (pipeline,) = (command for command in read_tree().walk() if command.name == "kctl pipeline")
    options = {command.path[-1]: options_of(command) for command in pipeline.commands}
    assert {name for name, found in options.items() if "--yes" not in found} == {"stats", "status", "verify"}, (
        "they only read"
    )
    assert {name for name, found in options.items() if "--dry-run" not in found} == {"status"}


def test_every_class_is_seen() -> None:
    last = {command.path[-1] for command in COMMANDS}
    assert {"delete", "trim", "reset-offsets"} <= last & DESTROY
    assert {"create", "alter", "set"} <= last & CHANGE
    assert set(BOTH) <= {command.name for command in COMMANDS}
