"""Errors as users see them: a message, a hint, and an exit code."""

import errno
import re
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from kctl.cli.click import PARSER_ERRORS
from kctl.cli.exit_codes import ExitCode, exit_code_of
from kctl.cli.limit_names import with_options
from kctl.client import errors
from kctl.client.wording import place_text

_NO_NUMBER = re.compile(r"('[^']*') is not a valid (?:int(?:eger)?)(?: range)?\.")
_OUT_OF_RANGE = re.compile(r"(-?\d+) is not in the range (x?[-\d<>=x]+)\.")
_LONG_WORD = re.compile(r"(\S{300})\S+")
"""A word that is too long to show, and the part to show."""
_NO_SUCH_COMMAND = re.compile(r"No such command '(.*?)'\.")


VERSION = 1
"""Version of the fields of an error; within a version fields are added, never renamed or removed."""


class CommandError(Exception):
    """A command cannot do its work, for a reason that is no error of the client."""

    def __init__(self, code: ExitCode, message: str, hint: str = "", details: Sequence[str] = ()) -> None:
        super().__init__(message)
        self.code = code
        self.hint = hint
        self.details = tuple(details)

    def __str__(self) -> str:
        return "\n".join([str(self.args[0]), *(f"  {line}" for line in self.details)])


def file_error(text: str, error: OSError, hint: str = "") -> CommandError:
    """Return the error for a file that cannot be read or written.

    Args:
        text: failed action.
        error: error of the system, whose reason is appended to `text`.
    """
    return CommandError(file_exit_code(error), f"{text}: {error.strerror or error}", hint)


def file_exit_code(error: OSError) -> ExitCode:
    """Return the exit code of a file error: DISK for a full or failing disk, otherwise USAGE."""
    return ExitCode.DISK if _is_of_disk(error) else ExitCode.USAGE


def _is_of_disk(error: OSError) -> bool:
    from kctl.pipeline.job_errors import DISK_ERRORS  # deferred import: only for errors of the system

    return error.errno in DISK_ERRORS


class Failure(NamedTuple):
    """A failure of a command or of one of its items.

    Attributes:
        details: lines between message and hint.
        cause: Kafka's name of a broker error, or the class of a client error; otherwise empty.
        broker: HOST:PORT of the broker, if the failure is about one broker.
        phase: phase of the connection attempt that failed; otherwise empty.
    """

    code: ExitCode
    message: str
    hint: str = ""
    details: tuple[str, ...] = ()
    cause: str = ""
    broker: str = ""
    phase: str = ""

    def masked(self, mask: Callable[[str], str]) -> "Failure":
        details = tuple(map(mask, self.details))
        return self._replace(
            message=mask(self.message), hint=mask(self.hint), details=details, broker=mask(self.broker)
        )

    def lines(self) -> list[str]:
        return [self.message, *(f"  {line}" for line in self.details), *([f"hint: {self.hint}"] if self.hint else [])]

    def fields(self) -> dict[str, object]:
        """Return the failure for programs (docs/schemas/error.v1.json)."""
        return {
            "v": VERSION,
            "kind": "error",
            "code": int(self.code),
            "cause": self.cause or None,
            "broker": self.broker or None,
            "phase": self.phase or None,
            "message": with_options(self.message),
            "details": [with_options(line) for line in self.details],
            "hint": with_options(self.hint) or None,
        }


MOST_NODES = 10
"""Maximum number of brokers listed with their errors; further ones are counted."""


OPERATIONS = {
    "add offsets": "read", "add partitions": "alter", "alter configs": "alter-configs", "be a member": "read",
    "commit": "read", "create ACL": "alter", "create topic": "create", "delete ACL": "alter", "delete group": "delete",
    "delete offsets": "delete", "delete records": "delete", "delete the offset": "delete", "delete topic": "delete",
    "describe ACLs": "describe", "describe configs": "describe-configs", "describe group": "describe",
    "describe topic": "describe", "describe transactional.id": "describe", "fetch": "read",
    "find the coordinator": "describe", "join": "read", "leave": "read", "look up offsets": "describe",
    "obtain a producer id": "write", "produce": "write", "read committed": "describe", "read the committed": "describe",
    "remove": "read",
}  # fmt: skip
"""The ACL operation that an action needs, by the first words of the action."""
_REFUSED = re.compile(
    rf"cannot (?=(?P<action>{'|'.join(OPERATIONS)})\b)"
    r"(?:[^:]*?\b(?P<kind>topic|group|transactional\.id) (?P<name>\S+?): )?"
)


def exit_code(error: BaseException) -> ExitCode:
    """Return the exit code of an error. Timeouts and transaction errors have the exit code of their cause, if known."""
    if isinstance(error, CommandError):
        return error.code
    if isinstance(error, errors.ApiTimeout) and error.cause is not None:
        blocked_by = exit_code(error.cause)
        return ExitCode.API_TIMEOUT if blocked_by is ExitCode.UNEXPECTED else blocked_by
    if isinstance(error, errors.LoginServerUnavailable):
        return exit_code(error.cause)
    if isinstance(error, errors.TransactionError):
        stopped_by = exit_code(error.cause)
        return ExitCode.UNDELIVERED if stopped_by is ExitCode.UNEXPECTED else stopped_by
    if isinstance(error, errors.KafkaError):
        return exit_code_of(error.kind)
    return ExitCode.USAGE if isinstance(error, PARSER_ERRORS) else ExitCode.UNEXPECTED


def explain(error: BaseException) -> Failure:
    if isinstance(error, OSError) and _is_of_disk(error):
        error = file_error("cannot write", error)  # mostly of click, which writes help to stdout
    if isinstance(error, OSError) and error.errno in (errno.EMFILE, errno.ENFILE):
        hint = "show the limit of open files and connections with: ulimit -n"
        error = CommandError(ExitCode.USAGE, f"cannot open a file or connection: {error.strerror}", hint)
    code = exit_code(error)
    details = _details(error)
    message = _message(error)
    if isinstance(error, errors.KafkaError) and error.outcome_unknown:
        message = f"{message}. The change may have been made"
    if isinstance(error, PARSER_ERRORS):  # words of the parser and of the command line, in one or more lines
        message, *others = message.replace("\n\t", " ").split("\n")
        details = [line.removeprefix("  ") for line in others]
    return Failure(
        code,
        with_options(message),
        with_options(_hint(error, code)),
        tuple(map(with_options, details)),
        *_origin(_root_cause(error)),
    )


def _acl_command(error: errors.AuthorizationError) -> str:
    """Return the command that adds the missing ACL, or ""."""
    found = _REFUSED.match(str(error))
    if found is None:
        return ""
    from kctl.grammar.command_lines import fill_command  # wanted only for mistakes

    operation = OPERATIONS[found["action"]]
    command = "kctl acls create --allow PRINCIPAL --operation"
    if error.name == "CLUSTER_AUTHORIZATION_FAILED":
        return f"{command} {'idempotent-write' if operation == 'write' else operation} --cluster"
    kind, name = found["kind"], found["name"]
    if kind is None or error.name != f"{kind.replace('.', '_').upper()}_AUTHORIZATION_FAILED":
        return ""  # a commit for a group is also denied by a topic
    option = kind.replace(".", "-")
    return fill_command(f"{command} {operation} --{option} {{name}}", {"name": name})


def _root_cause(error: BaseException) -> BaseException:
    """Return the last error in the chain of causes that determines the exit code."""
    cause = error.__cause__ if isinstance(error, CommandError) else getattr(error, "cause", None)
    if isinstance(error, errors.AdvertisedAddressError) or not isinstance(cause, errors.KafkaError):
        return error
    return _root_cause(cause)


def _origin(error: BaseException) -> tuple[str, str, str]:
    name = type(error).__name__
    if isinstance(error, errors.BrokerError):
        name = error.name
    elif getattr(errors, name, None) is not type(error):
        name = ""
    if not isinstance(error, errors.TransportError):
        return name, getattr(error, "address", ""), ""
    return name, place_text(error.host, error.port) if error.host else "", error.phase


def _message(error: BaseException) -> str:
    if isinstance(error, PARSER_ERRORS):
        return _LONG_WORD.sub(r"\1...", _sentence(error))
    if isinstance(error, errors.KafkaTimeoutError):
        return error.summary
    if isinstance(error, CommandError):
        return str(error.args[0])
    if isinstance(error, errors.KafkaError):
        return str(error)
    return f"unexpected error, which is a bug in kctl: {type(error).__name__}: {error}"


def _sentence(error: Any) -> str:
    ctx = getattr(error, "ctx", None)
    unknown = _NO_SUCH_COMMAND.match(error.message)
    if ctx is not None and unknown is not None and hasattr(ctx.command, "list_commands"):
        return _no_such_command(unknown[1], ctx)
    if ctx is not None and hasattr(error, "possibilities"):
        return _no_such_option(error.option_name, ctx)
    return _plain_number(str(error.format_message()))


def _no_such_command(name: str, ctx: Any) -> str:
    from kctl.cli.suggestions import Unknown, did_you_mean  # wanted only for mistakes

    names = ctx.command.list_commands(ctx)
    meant = did_you_mean(Unknown.COMMAND, name, names, ctx.command_path.partition(" ")[2])
    rest = f"Available commands: {', '.join(names)}." if meant is None else f"Did you mean '{meant}'?"
    return f"No such command '{name}'. {rest}"


def _no_such_option(name: str, ctx: Any) -> str:
    from kctl.cli.suggestions import Unknown, did_you_mean  # as above

    known = [option for each in ctx.command.get_params(ctx) for option in (*each.opts, *each.secondary_opts)]
    command = " ".join(ctx.command_path.split()[1:3])
    meant = did_you_mean(Unknown.OPTION, name, known, command)
    rest = "" if meant is None else f" Did you mean '{meant}'?"
    return f"No such option '{name}'.{rest}"


def _plain_number(sentence: str) -> str:
    sentence = _NO_NUMBER.sub(r"\1 is not an integer.", sentence)
    return _OUT_OF_RANGE.sub(lambda found: f"{found[1]} is out of range: use {_range_text(found[2])}.", sentence)


def _range_text(text: str) -> str:
    low, _, high = text.partition("<=x")
    if low == text:  # x>=1 or x<=9
        return f"{text[3:]} or more" if text.startswith("x>=") else f"{text[3:]} or less"
    return f"{low} to {high.removeprefix('<=')}"


def _details(error: BaseException) -> list[str]:
    """Return how the time of a timeout was spent, and errors of brokers that are not its cause."""
    if isinstance(error, CommandError):
        return list(error.details)
    if not isinstance(error, errors.KafkaTimeoutError):
        return []
    account = error.account
    lines = [f"{error.limit}={error.timeout_ms}: {account}"] if str(account) else []
    causes = (str(error.cause), "" if error.cause is None else str(error.cause.__cause__))
    others = [str(each) for each in account.node_errors if str(each) not in causes]
    more = [f"{len(others) - MOST_NODES} more brokers also reported errors"] if len(others) > MOST_NODES else []
    if error.forwarded:
        lines.append(
            f"KRaft brokers forward {error.forwarded} to the controller. Check the controllers with: kctl why cluster"
        )
    return [*lines, *(f"also {other}" for other in others[:MOST_NODES]), *more]


def _hint(error: BaseException, code: ExitCode) -> str:
    if isinstance(error, CommandError):
        return error.hint
    if isinstance(error, errors.KafkaTimeoutError | errors.TransactionError) and error.cause is not None:
        return _hint(error.cause, code)
    if getattr(error, "hint", ""):
        return str(error.hint)  # type: ignore[attr-defined]  # errors of jobs and of schemas have hints too
    if isinstance(error, errors.ConfigError) and error.key == "bootstrap.servers":
        return "set -b HOST:PORT, or start a local cluster with: kctl sandbox start"
    if (
        isinstance(error, errors.ConfigError)
        and error.key == "sasl.jaas.config"
        and "needs sasl.jaas.config" in str(error)
    ):
        return "set -X sasl.username=NAME, and put the password into $KCTL_SASL_PASSWORD"
    if not isinstance(error, errors.BrokerError | errors.TransportError):
        return ""
    from kctl.cli.explanations.advice import HINTED, broker_hint  # deferred import: only for errors
    from kctl.cli.explanations.exit_codes import CODE_PAGES

    if isinstance(error, errors.BrokerError) and error.name in HINTED:
        return broker_hint(error.name)
    command = _acl_command(error) if isinstance(error, errors.AuthorizationError) else ""
    return f"{CODE_PAGES[code].hint}: {command}" if command else CODE_PAGES[code].hint
