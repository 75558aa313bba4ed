"""Shared parts of commands that change a cluster: consent options, confirmation, and failure reports.

Changes that destroy records, access or offsets need --execute, or confirmation on a terminal.
"""

import shlex
from collections.abc import Callable, Iterable, Mapping, Sequence
from enum import Enum
from typing import TYPE_CHECKING, Annotated, Any, TypeVar

import typer

from kctl.cli import click
from kctl.cli.exit_codes import ExitCode
from kctl.cli.failures import CommandError, Failure, explain
from kctl.cli.formats.listing import Listing, write_listing
from kctl.cli.options import Common
from kctl.cli.output_options import Output
from kctl.client.errors import KafkaError
from kctl.client.wording import one_line

if TYPE_CHECKING:
    from kctl.client.admin import Admin

T = TypeVar("T")

LONGEST_ANSWER_BYTES = 1024
MOST_NAMES = 10
"""Maximum number of names in a printed command."""
UNKNOWN = "unknown"
"""Result of a change that was sent but not confirmed by a response."""

DryRun = Annotated[bool, typer.Option("--dry-run", help="Validate the change on the brokers without making it.")]
ShownDryRun = Annotated[bool, typer.Option("--dry-run", help="Show the changes without making them.")]
"""The option --dry-run of changes that brokers cannot validate."""
Execute = Annotated[
    bool,
    typer.Option(
        "--execute", help="Make the changes without a prompt [default: prompt on terminals, otherwise dry run]."
    ),
]
Yes = Annotated[bool, typer.Option("--yes", help="Make the changes, like --execute.")]
YesUnneeded = Annotated[
    bool, typer.Option("--yes", hidden=True, help="Accepted for scripts. This command never prompts for confirmation.")
]


class Consent(Enum):
    """Consent to a destructive change."""

    GIVEN = "given"
    NEEDED = "needed"
    """Prompt on a terminal; without a terminal the command is a dry run."""
    DENIED = "denied"
    """The command is a dry run, even on a terminal."""


def consent_options(dry_run: ShownDryRun = False, execute: Execute = False, yes: Yes = False) -> Consent:
    """Return the consent that the options give. --dry-run has precedence."""
    if dry_run:
        return Consent.DENIED
    return Consent.GIVEN if execute or yes else Consent.NEEDED


def read_pairs(texts: Iterable[str], where: str) -> dict[str, str]:
    """Return values by key. Raises: click.BadParameter: an entry is not KEY=VALUE, or repeats a key."""
    found: dict[str, str] = {}
    for text in texts:
        key, equals, value = text.partition("=")
        if not key or not equals:
            raise click.BadParameter(f"use KEY=VALUE instead of {text!r}", param_hint=where)
        if key in found:
            raise click.BadParameter(f"key {key!r} appears twice", param_hint=where)
        found[key] = value
    return found


def is_confirmed(common: Common, consent: Consent, facts: Sequence[str], question: str) -> bool:
    """Show the facts, prompt on the terminal, and return whether the user confirmed.

    Return False without a prompt unless consent is NEEDED and stdin and stderr are terminals.
    """
    environment = common.environment
    if consent is not Consent.NEEDED or not (environment.stdin_is_tty and environment.stderr_is_tty):
        return False
    for line in facts:
        environment.say(line)
    environment.stderr.write(f"{one_line(question)} [y/N] ")
    environment.stderr.flush()
    answer = environment.stdin.readline(LONGEST_ANSWER_BYTES)
    if not answer.endswith(b"\n"):  # Ctrl-D: what follows begins on a line of its own
        environment.stderr.write("\n")
    return answer.strip().lower() in (b"y", b"yes")


def after_yes(
    common: Common, admin: "Admin", consent: Consent, facts: Sequence[str], question: str, change: Callable[[], T]
) -> T | None:
    """Return the result of `change` if the user confirms it on a terminal, otherwise None.

    The change has a new API timeout, because the prompt takes time.
    """
    if not is_confirmed(common, consent, facts, question):
        return None
    with admin.within():
        return change()


def result_word(key: object, failed: Mapping[Any, KafkaError] | None, done: str) -> str:
    """Return the result of one item, such as `deleted` or an error name. `failed` is None in a dry run."""
    return f"would be {done}" if failed is None else word_of(failed.get(key), done)


def word_of(error: KafkaError | None, done: str) -> str:
    if error is None:
        return done
    return UNKNOWN if error.outcome_unknown else "failed"


def end_change(
    common: Common,
    output: Output,
    listing: Listing,
    failed: Mapping[T, KafkaError] | None,
    would: str,
    check: str = "",
) -> int:
    """Print the rows of a change, report its failures, and return the exit code.

    Args:
        failed: errors by item; None in a dry run.
        would: what a dry run omits, such as "1 topic would be deleted".
        check: command that shows whether the change was made.
    """
    write_listing(common.environment, output, listing)
    if failed is None:
        say_dry_run(common, would)
        return ExitCode.OK
    return report_failures(common, len(failed) < len(listing.rows), failed.values(), check)


def say_dry_run(common: Common, what: str) -> None:
    common.say(f"{common.environment.program}: dry run: {what}. Add --execute to make the change.")


def report_failures(common: Common, done: object, failed: Iterable[KafkaError | CommandError], check: str = "") -> int:
    """Print the failures, without duplicates. Return 3 if an item succeeded, otherwise the code of the first failure.

    Args:
        done: true if any item succeeded.
        check: command that shows whether a change was made.
    """
    failures = list(dict.fromkeys(_failure(error, check) for error in failed))
    for failure in failures:
        common.environment.say_failure(failure)
    if not failures:
        return ExitCode.OK
    return ExitCode.PARTIAL_FAILURE if done else failures[0].code


def checking(command: str, failed: Mapping[T, KafkaError], name: Callable[[T], str] = str) -> str:
    """Return the command line that shows items whose outcome is unknown.

    Args: name: return the command's argument for an item.
    """
    names = dict.fromkeys(name(key) for key, error in failed.items() if error.outcome_unknown)
    return shlex.join([*command.split(), *list(names)[:MOST_NAMES]])


def _failure(error: KafkaError | CommandError, check: str) -> Failure:
    failure = explain(error)
    is_open = check and isinstance(error, KafkaError) and error.outcome_unknown
    return failure._replace(hint=f"check the result with: {check}") if is_open else failure
