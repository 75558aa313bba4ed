"""`kctl users`: list, create, change and delete SCRAM credentials. Passwords are never printed."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Annotated

import typer

from kctl.cli.changes import (
    Consent,
    ShownDryRun,
    YesUnneeded,
    after_yes,
    consent_options,
    report_failures,
    result_word,
    say_dry_run,
)
from kctl.cli.commands import Commands
from kctl.cli.exit_codes import ExitCode
from kctl.cli.failures import CommandError
from kctl.cli.formats.listing import SHAPES, Listing, write_listing
from kctl.cli.formats.rows import Row
from kctl.cli.options import Common, with_common, with_options
from kctl.cli.output_options import Output, Words

if TYPE_CHECKING:
    from kctl.client.admin import Admin, Credential, Results, ScramChange, ScramRemoval

COLUMNS = ("user", "mechanism", "iterations")
CHANGE_COLUMNS = ("user", "mechanism", "result")
MECHANISMS = Words(("SCRAM-SHA-256", "SCRAM-SHA-512"))
FEWEST_ITERATIONS, MOST_ITERATIONS = 4096, 16_384

app = Commands(no_args_is_help=True)

Name = Annotated[str, typer.Argument(metavar="NAME")]
Mechanisms = Annotated[
    list[str] | None,
    typer.Option("--mechanism", parser=MECHANISMS, help="SCRAM mechanism. Repeatable [default: all]."),
]


@app.callback()
def users() -> None:
    """Manage SCRAM users."""


def password_options(
    password_file: Annotated[
        str | None,
        typer.Option("--password-file", metavar="FILE", help="Read the password from this file, or from stdin (-)."),
    ] = None,
    password_from: Annotated[
        str | None,
        typer.Option(
            "--password-from",
            metavar="SOURCE",
            help="Source of the password: env:NAME, file:PATH, cmd:COMMAND, keyring:SERVICE/USER, or prompt:WORDS.",
        ),
    ] = None,
    iterations: Annotated[
        int,
        typer.Option(
            "--iterations",
            min=FEWEST_ITERATIONS,
            max=MOST_ITERATIONS,
            metavar="N",
            help="Number of hash iterations.",
        ),
    ] = FEWEST_ITERATIONS,
) -> "tuple[str | None, str | None, int]":
    """Return the file and source of the new password, and the number of hash iterations."""
    return password_file, password_from, iterations


Password = tuple[str | None, str | None, int]


@app.command("list")
@with_common(*SHAPES)
def list_(
    common: Common, names: Annotated[list[str] | None, typer.Argument(metavar="[NAME]...", show_default=False)] = None
) -> int:
    """List SCRAM users with their mechanisms and iterations."""
    from kctl.cli.admin_client import admin_of  # the client: not wanted for --help

    output = common.choose_output(*SHAPES)
    with admin_of(common) as admin:
        results = admin.describe_user_scram_credentials(names or None)
        _suggest_users(admin, results)
    rows: list[Row] = [
        {"user": user, "mechanism": mechanism, "iterations": iterations}
        for user, found in results.done.items()
        for mechanism, iterations in found.items()
    ]
    write_listing(common.environment, output, Listing("users", COLUMNS, rows))
    if not rows and not results.failed and output is Output.TABLE:
        common.say(f"{common.environment.program}: no users with SCRAM credentials found")
    return report_failures(common, results.done, list(results.failed.values()))


@app.command()
@with_common(*SHAPES)
@with_options(password=password_options)
def create(
    common: Common,
    name: Name,
    password: Password,
    mechanisms: Mechanisms = None,
    dry_run: ShownDryRun = False,
    yes: YesUnneeded = False,  # noqa: ARG001 - accepted, and not needed
) -> int:
    """Create a SCRAM user.

    Prompts for the password, unless --password-file or --password-from is set. Brokers store a salted hash.
    """
    return _set_password(common, name, password, mechanisms, is_new=True, dry_run=dry_run)


@app.command()
@with_common(*SHAPES)
@with_options(password=password_options)
def alter(
    common: Common,
    name: Name,
    password: Password,
    mechanisms: Mechanisms = None,
    dry_run: ShownDryRun = False,
    yes: YesUnneeded = False,  # noqa: ARG001 - accepted, and not needed
) -> int:
    """Change the password of a user.

    Changes the password for all existing mechanisms of the user, unless --mechanism is set.
    """
    return _set_password(common, name, password, mechanisms, is_new=False, dry_run=dry_run)


@app.command()
@with_common(*SHAPES)
@with_options(consent=consent_options)
def delete(
    common: Common,
    consent: Consent,
    names: Annotated[list[str], typer.Argument(metavar="NAME...", show_default=False)],
    mechanisms: Mechanisms = None,
) -> int:
    """Delete SCRAM users, or only some of their mechanisms.

    Lists the credentials and prompts for confirmation. In scripts, add --execute. Existing connections stay open.
    """
    from kctl.cli.admin_client import open_admin  # the client: not wanted for --help
    from kctl.client.wording import counted, one_line

    common.choose_output(*SHAPES)
    with open_admin(common) as admin:
        with admin.within():
            found = admin.describe_user_scram_credentials(names)
            _suggest_users(admin, found)
            if found.failed:
                code = report_failures(common, None, list(found.failed.values()))
                common.say(f"{common.environment.program}: nothing was deleted")
                return code
            changes = _removals(found.done, mechanisms or MECHANISMS.words)
            results = admin.alter_user_scram_credentials(changes) if consent is Consent.GIVEN else None
        if results is None:
            facts = [one_line(f"{each.user}: {each.mechanism}") for each in changes]
            question = f"Delete {counted(len(changes), 'credential')}?"
            results = after_yes(
                common, admin, consent, facts, question, lambda: admin.alter_user_scram_credentials(changes)
            )
        code = _write(common, changes, "deleted", results)
        if results is None:
            say_dry_run(common, f"{counted(len(changes), 'credential')} would be deleted")
        _wait(common, admin, results, are_there=False)
    return code


def _set_password(
    common: Common, name: str, password: Password, mechanisms: Sequence[str] | None, *, is_new: bool, dry_run: bool
) -> int:
    from kctl.cli.admin_client import admin_of  # the client: not wanted for --help
    from kctl.cli.new_password import read_password
    from kctl.client.admin import ScramPassword

    common.choose_output(*SHAPES)
    file, source, iterations = password
    text = read_password(common, name, file, source)
    with admin_of(common) as admin:
        known = _mechanisms_of(admin, name, is_new=is_new)
        chosen = mechanisms or known or MECHANISMS.words
        changes = [ScramPassword(name, mechanism, text, iterations) for mechanism in dict.fromkeys(chosen)]
        results = None if dry_run else admin.alter_user_scram_credentials(changes)
        code = _write(common, changes, "created" if is_new else "changed", results)
        _wait(common, admin, results, are_there=True)
    return code


def _wait(common: Common, admin: "Admin", results: "Results[Credential, None] | None", *, are_there: bool) -> None:
    if results is not None and results.done:
        from kctl.cli.metadata_wait import wait_for_users  # wanted once something was changed

        wait_for_users(common, admin, results.done, are_there=are_there)


def _removals(known: "Mapping[str, Mapping[str, int]]", mechanisms: Sequence[str]) -> "list[ScramRemoval]":
    """Return the removals of the given mechanisms. Mechanisms that kctl does not know are not removed.

    Raises: CommandError: the users have no such credentials.
    """
    from kctl.client.admin import ScramRemoval

    removals = [ScramRemoval(name, each) for name, has in known.items() for each in has if each in mechanisms]
    if not removals:
        raise CommandError(ExitCode.UNKNOWN_RESOURCE, f"no {', '.join(mechanisms)} credentials found")
    return removals


def _mechanisms_of(admin: "Admin", name: str, *, is_new: bool) -> list[str]:
    found = admin.describe_user_scram_credentials([name])
    error = found.failed.get(name)
    if error is not None and getattr(error, "name", "") != "RESOURCE_NOT_FOUND":
        raise error
    if is_new and error is None:
        raise CommandError(
            ExitCode.USAGE,
            f"cannot create user {name!r}: it already exists",
            "change the password with: kctl users alter",
        )
    if not is_new and error is not None:
        _suggest_users(admin, found)
        hint = getattr(error, "hint", "") or "list SCRAM users with: kctl users list"
        raise CommandError(ExitCode.UNKNOWN_RESOURCE, f"SCRAM user {name!r} not found", hint)
    return [mechanism for mechanism in found.done.get(name, {}) if mechanism in MECHANISMS.words]


def _suggest_users(admin: "Admin", results: "Results[str, dict[str, int]]") -> None:
    if results.failed:
        from kctl.cli.nearest_names import suggest_users  # wanted for mistakes alone

        suggest_users(admin, results.failed)


def _write(
    common: Common, changes: "Sequence[ScramChange]", done: str, results: "Results[Credential, None] | None"
) -> int:
    failed = None if results is None else results.failed
    rows: list[Row] = [
        {
            "user": each.user,
            "mechanism": each.mechanism,
            "result": result_word((each.user, each.mechanism), failed, done),
        }
        for each in changes
    ]
    write_listing(common.environment, common.choose_output(*SHAPES), Listing("users", CHANGE_COLUMNS, rows))
    if results is None:
        return ExitCode.OK
    return report_failures(common, results.done, list(results.failed.values()), "kctl users list")
