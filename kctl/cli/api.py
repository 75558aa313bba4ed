"""`kctl api`: one request to any Kafka API, request and response as JSON."""

import json
from typing import TYPE_CHECKING, Annotated

import typer

from kctl.cli import click
from kctl.cli.commands import Commands
from kctl.cli.exit_codes import ExitCode
from kctl.cli.failures import CommandError, explain
from kctl.cli.formats.listing import DOCUMENT_SHAPES, SHAPES, Listing, write_document, write_listing
from kctl.cli.formats.rows import Row
from kctl.cli.options import Common, with_common

if TYPE_CHECKING:
    from kctl.client.admin import ApiResponse

LIST_COLUMNS = ("name", "api_key", "first_version", "last_version")
MAX_INPUT_BYTES = 16 << 20

NEEDS_EXECUTE = frozenset(
    {
        "AlterConfigs",
        "AlterPartitionReassignments",
        "AlterShareGroupOffsets",
        "AlterUserScramCredentials",
        "CreateAcls",
        "DeleteAcls",
        "DeleteGroups",
        "DeleteRecords",
        "DeleteShareGroupOffsets",
        "DeleteShareGroupState",
        "DeleteTopics",
        "ElectLeaders",
        "EndTxn",
        "ExpireDelegationToken",
        "IncrementalAlterConfigs",
        "InitProducerId",
        "InitializeShareGroupState",
        "LeaveGroup",
        "OffsetCommit",
        "OffsetDelete",
        "RemoveRaftVoter",
        "TxnOffsetCommit",
        "UnregisterBroker",
        "UpdateFeatures",
        "WriteShareGroupState",
        "WriteTxnMarkers",
    }
)
"""APIs that can destroy records, offsets or access."""

app = Commands()


@app.command()
@with_common(*SHAPES)
def api(
    common: Common,
    name: Annotated[
        str | None, typer.Argument(metavar="[NAME]", help="API name or key [default: list all APIs].")
    ] = None,
    request: Annotated[
        str | None,
        typer.Argument(metavar="[JSON]", help="Request fields as a JSON object. - reads stdin."),
    ] = None,
    node: Annotated[
        int | None,
        typer.Option(
            "--node", min=0, metavar="ID", help="ID of the broker to send the request to [default: chosen by kctl]."
        ),
    ] = None,
    version: Annotated[
        int | None,
        typer.Option(
            "--version",
            min=0,
            metavar="N",
            help="API version [default: highest version that kctl and the broker support].",
        ),
    ] = None,
    execute: Annotated[
        bool, typer.Option("--execute", help="Allow requests that can delete records, offsets, or permissions.")
    ] = False,
    yes: Annotated[bool, typer.Option("--yes", help="Make the changes, like --execute.")] = False,
) -> int:
    """Send a request to any Kafka API and print the response as JSON.

    Fields have the names of the Kafka protocol, and binary fields are base64. Omitted fields have their defaults.
    timeoutMs defaults to the remaining --api-timeout. kctl does not retry the request.
    """
    if name is None:
        return _list(common)
    output = common.choose_output(*DOCUMENT_SHAPES)
    name = _kafka_name(name)
    fields = _fields(common, request)
    _check_execute(name, execute=execute or yes)
    response = _send(common, name, fields, node, version)
    if common.verbose:
        broker = "a bootstrap server" if response.broker is None else f"broker {response.broker}"
        common.say(
            f"{common.environment.program}: received the {response.name} response, version {response.version}, "
            f"from {broker}"
        )
    write_document(common.environment, output, response.fields)
    return _report_errors(common, response)


def _list(common: Common) -> int:
    from kctl.client.admin import declared_apis  # the client: not wanted for --help

    rows: list[Row] = [
        {
            "name": each.name,
            "api_key": each.api_key,
            "first_version": each.versions[0],
            "last_version": each.versions[1],
        }
        for each in declared_apis()
    ]
    write_listing(common.environment, common.choose_output(*SHAPES), Listing("apis", LIST_COLUMNS, rows))
    return ExitCode.OK


def _read_stdin(common: Common) -> str:
    from kctl.cli.document_file import STDIN, read_document  # the client: not wanted for --help

    try:
        return read_document(STDIN, MAX_INPUT_BYTES, common.environment.stdin).decode()
    except UnicodeDecodeError as e:
        raise click.UsageError(f"The request on stdin is not valid UTF-8 at byte {e.start}.") from None


def _fields(common: Common, request: str | None) -> dict[str, object]:
    text = _read_stdin(common) if request == "-" else "{}" if request is None else request
    try:
        fields = json.loads(text)
    except RecursionError:
        raise click.UsageError("The request is not valid JSON: it is nested too deeply.") from None
    except ValueError as e:
        raise click.UsageError(f"The request is not valid JSON: {e}.") from None
    if not isinstance(fields, dict):
        raise click.UsageError("The request is not a JSON object.")
    return fields


def _kafka_name(typed: str) -> str:
    """Return Kafka's name of an API. `typed` is the name in any case, or the API key.

    Raises: UsageError: there is no such API.
    """
    from kctl.cli.suggestions import Unknown, did_you_mean  # not wanted for --help
    from kctl.client.admin import api_key_of, api_name, declared_apis

    key = api_key_of(typed)
    if key is None:
        names = {each.name.lower(): each.name for each in declared_apis()}
        meant = did_you_mean(Unknown.API, typed.lower(), names)
        hint = f"Did you mean '{names[meant]}'?" if meant else "List the APIs with: kctl api."
        raise click.UsageError(f"Unknown API '{typed}'. {hint}")
    return api_name(key)


def _check_execute(name: str, *, execute: bool) -> None:
    if name in NEEDS_EXECUTE and not execute:
        text = f"cannot send {name} without --execute: the request can delete records, offsets, or permissions"
        raise CommandError(ExitCode.USAGE, text, "add --execute to send the request")


def _send(common: Common, name: str, fields: dict[str, object], node: int | None, version: int | None) -> "ApiResponse":
    from kctl.cli.admin_client import admin_of  # the client: not wanted for --help

    try:
        with admin_of(common) as admin:
            return admin.request_api(name, fields, broker=node, version=version)
    except ValueError as e:
        raise click.UsageError(f"{name}: {e}.") from None


def _report_errors(common: Common, response: "ApiResponse") -> int:
    """Print the errors of a response. Return 3 if other parts succeeded, otherwise the exit code of the first error."""
    failures = [explain(error) for error in response.errors]
    for failure in failures:
        common.environment.say_failure(failure, is_error=False)
    if not failures:
        return ExitCode.OK
    return ExitCode.PARTIAL_FAILURE if response.has_successes else failures[0].code
