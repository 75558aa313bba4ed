"""What commands that change a cluster share: their options, the question on a terminal, and how failures are reported.

One rule: what destroys records, access or positions shows first and needs --execute, or a yes on a terminal; every
other change is made immediately. Both have --dry-run, which wins.
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
"""Most names in a command that is shown."""
UNKNOWN = "unknown"
"""The result of a change that was sent and that no response confirmed."""

DryRun = Annotated[bool, typer.Option("--dry-run", help="Validate the change on the brokers, and change nothing.")]
ShownDryRun = Annotated[bool, typer.Option("--dry-run", help="Show the changes, and change nothing.")]
"""Of what the other side cannot check without doing it."""
Execute = Annotated[bool, typer.Option("--execute", help="Make the changes. Otherwise the command is a dry run.")]
Yes = Annotated[bool, typer.Option("--yes", help="Make the changes, like --execute.")]
YesUnneeded = Annotated[
    bool, typer.Option("--yes", hidden=True, help="Accepted without effect: the change needs no confirmation.")
]


class Consent(Enum):
    """Permission for a change that destroys something."""

    GIVEN = "given"
    NEEDED = "needed"
    """After a yes on a terminal; without a terminal the command is a dry run."""
    DENIED = "denied"
    """The command is a dry run, on a terminal too."""


def consent_options(dry_run: ShownDryRun = False, execute: Execute = False, yes: Yes = False) -> Consent:
    """Return the permission that the options give: --dry-run wins over --execute and --yes."""
    if dry_run:
        return Consent.DENIED
    return Consent.GIVEN if execute or yes else Consent.NEEDED


def read_pairs(texts: Iterable[str], where: str) -> dict[str, str]:
    """Return values by key. Raises: click.BadParameter: a text is not KEY=VALUE, or has a key twice."""
    found: dict[str, str] = {}
    for text in texts:
        key, equals, value = text.partition("=")
        if not key or not equals:
            raise click.BadParameter(f"{text!r} is not KEY=VALUE", param_hint=where)
        if key in found:
            raise click.BadParameter(f"{key!r} appears twice", param_hint=where)
        found[key] = value
    return found


def is_confirmed(common: Common, consent: Consent, facts: Sequence[str], question: str) -> bool:
    """Show what would be done and ask on a terminal; return False without one, and in a dry run."""
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
    """Ask on a terminal, and make the change after a yes, with a new timeout, because the prompt took time."""
    if not is_confirmed(common, consent, facts, question):
        return None
    with admin.within():
        return change()


def result_word(key: object, failed: Mapping[Any, KafkaError] | None, done: str) -> str:
    """Return the outcome of one item, such as "deleted"; `failed` is None in a dry run."""
    return f"would be {done}" if failed is None else word_of(failed.get(key), done)


def word_of(error: KafkaError | None, done: str) -> str:
    """Return the result of a change, given its error, if it has one."""
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
    """Write one row for each item of a change; report failures and omissions, and return the exit code.

    Args:
        failed: None in a dry run.
        would: what a dry run would have done.
        check: the command that shows whether a change was made.
    """
    write_listing(common.environment, output, listing)
    if failed is None:
        say_dry_run(common, would)
        return ExitCode.OK
    return report_failures(common, len(failed) < len(listing.rows), failed.values(), check)


def say_dry_run(common: Common, what: str) -> None:
    """Report that nothing was done, what would be, and what does it."""
    common.say(f"{common.environment.program}: dry run: {what}. Add --execute to make the change.")


def report_failures(common: Common, done: object, failed: Iterable[KafkaError | CommandError], check: str = "") -> int:
    """Report what failed, equal failures once; return 3 if something was done, otherwise the code of the first cause.

    Args:
        done: true where some item succeeded.
        check: the command that shows whether a change was made whose outcome is unknown.
    """
    failures = list(dict.fromkeys(_failure(error, check) for error in failed))
    for failure in failures:
        common.environment.say_failure(failure)
    if not failures:
        return ExitCode.OK
    return ExitCode.PARTIAL_FAILURE if done else failures[0].code


def checking(command: str, failed: Mapping[T, KafkaError], name: Callable[[T], str] = str) -> str:
    """Return a command that shows the items whose outcome is unknown."""
    names = dict.fromkeys(name(key) for key, error in failed.items() if error.outcome_unknown)
    return shlex.join([*command.split(), *list(names)[:MOST_NAMES]])


def _failure(error: KafkaError | CommandError, check: str) -> Failure:
    failure = explain(error)
    is_open = check and isinstance(error, KafkaError) and error.outcome_unknown
    return failure._replace(hint=f"check with: {check}") if is_open else failure
