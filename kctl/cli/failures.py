"""Errors as users see them: one line, a hint, and the exit code of the cause.

`exit_code` maps every error that ends a command. A command that ends without an error chooses its own code from its
result: `account_code` (produce), `report_close` (consume), `verdict` (probe); topics, groups and bench return one of
`ExitCode` where a part of the result is missing.
"""

import errno
import re
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from kctl.cli.click import PARSER_ERRORS
from kctl.cli.exit_codes import ExitCode
from kctl.cli.limit_names import with_options
from kctl.client import errors
from kctl.client.wording import place_text
from kctl.pipeline import job_errors
from kctl.serdes import errors as serdes_errors

_NO_NUMBER = re.compile(r"('[^']*') is not a valid (?:int(?:eger)?)(?: range)?\.")
_OUT_OF_RANGE = re.compile(r"(-?\d+) is not in the range (x?[-\d<>=x]+)\.")
_NO_SUCH_COMMAND = re.compile(r"No such command '(.*?)'\.")


VERSION = 1
"""Of the fields of an error; within a version fields are added, never renamed or removed."""


class CommandError(Exception):
    """A command cannot do what it was asked, for a reason the client has no error for."""

    def __init__(self, code: ExitCode, message: str, hint: str = "", details: Sequence[str] = ()) -> None:
        super().__init__(message)
        self.code = code
        self.hint = hint
        self.details = tuple(details)

    def __str__(self) -> str:
        """Return the message and the details, a line each."""
        return "\n".join([str(self.args[0]), *(f"  {line}" for line in self.details)])


def file_error(text: str, error: OSError, hint: str = "") -> CommandError:
    """Return the error of a file that cannot be read or written.

    Args: text: what cannot be done. error: the system's, whose reason is put behind it.
    """
    return CommandError(file_exit_code(error), f"{text}: {error.strerror or error}", hint)


def file_exit_code(error: OSError) -> ExitCode:
    """Return the exit code of the system's error: a disk without room is no mistake of the command line."""
    return ExitCode.DISK if error.errno in job_errors.DISK_ERRORS else ExitCode.USAGE


class Failure(NamedTuple):
    """A failure of a command or of one of its items.

    Attributes:
        details: further lines between message and hint.
        cause: Kafka's name of a broker's error, or the class of an error of the client; empty if there is neither.
        broker: address of the broker, as HOST:PORT; empty if the failure is not about one broker.
        phase: phase of the connection in which it failed; empty if it was no connection.
    """

    code: ExitCode
    message: str
    hint: str = ""
    details: tuple[str, ...] = ()
    cause: str = ""
    broker: str = ""
    phase: str = ""

    def masked(self, mask: Callable[[str], str]) -> "Failure":
        """Return the failure with other texts: `mask` replaces secrets in each."""
        details = tuple(map(mask, self.details))
        return self._replace(
            message=mask(self.message), hint=mask(self.hint), details=details, broker=mask(self.broker)
        )

    def lines(self) -> list[str]:
        """Return the failure for people, a line each."""
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


CODES: dict[type[BaseException], ExitCode] = {
    errors.KafkaError: ExitCode.UNEXPECTED,
    errors.ConfigError: ExitCode.USAGE,
    errors.IllegalStateError: ExitCode.UNEXPECTED,
    errors.ConcurrentModificationError: ExitCode.UNEXPECTED,
    errors.WakeupError: ExitCode.UNEXPECTED,
    errors.RequestBudgetError: ExitCode.DEGRADED,
    errors.InvalidOffsetError: ExitCode.DATA,
    errors.LogTruncationError: ExitCode.DATA,
    errors.CommitFailedError: ExitCode.NOT_ABLE_YET,
    errors.TransactionError: ExitCode.UNDELIVERED,
    errors.TransactionAbortedError: ExitCode.UNDELIVERED,
    errors.BrokerError: ExitCode.UNEXPECTED,
    errors.AuthorizationError: ExitCode.NOT_AUTHORISED,
    errors.ProtocolError: ExitCode.WRONG_PEER,
    errors.LocalProtocolError: ExitCode.UNEXPECTED,
    errors.RemoteProtocolError: ExitCode.WRONG_PEER,
    errors.NoProgressError: ExitCode.DATA,
    errors.CorruptBatchError: ExitCode.DATA,
    errors.UnsupportedCodecError: ExitCode.DATA,
    errors.UnsupportedVersionError: ExitCode.WRONG_PEER,
    errors.RecordTooLargeError: ExitCode.DATA,
    errors.TransportError: ExitCode.REFUSED,
    errors.DnsError: ExitCode.DNS,
    errors.ConnectionRefused: ExitCode.REFUSED,
    errors.ConnectionLost: ExitCode.REFUSED,
    errors.LoginServerUnavailable: ExitCode.REFUSED,
    errors.TlsClosed: ExitCode.TLS,
    errors.TlsNotAnswered: ExitCode.WRONG_PEER,
    errors.SaslRequired: ExitCode.AUTHENTICATION,
    errors.ConnectTimeout: ExitCode.CONNECT_TIMEOUT,
    errors.TlsError: ExitCode.TLS,
    errors.AuthenticationError: ExitCode.AUTHENTICATION,
    errors.WrongPeerError: ExitCode.WRONG_PEER,
    errors.AdvertisedAddressError: ExitCode.ADVERTISED_ADDRESS,
    errors.KafkaTimeoutError: ExitCode.API_TIMEOUT,
    errors.ApiTimeout: ExitCode.API_TIMEOUT,
    errors.RequestTimeout: ExitCode.REQUEST_TIMEOUT,
    errors.CloseTimeout: ExitCode.CLOSE_TIMEOUT,
    errors.MaxBlockTimeout: ExitCode.API_TIMEOUT,
    errors.ResultTimeout: ExitCode.API_TIMEOUT,
    errors.FlushTimeout: ExitCode.UNDELIVERED,
    errors.DeliveryTimeout: ExitCode.UNDELIVERED,
    errors.UndeliveredError: ExitCode.UNDELIVERED,
}

SERDES_CODES: dict[type[BaseException], ExitCode] = {
    serdes_errors.SerdesError: ExitCode.DATA,
    serdes_errors.LibraryMissingError: ExitCode.USAGE,
    serdes_errors.RegistryError: ExitCode.UNEXPECTED,
    serdes_errors.SchemaNotFoundError: ExitCode.UNKNOWN_RESOURCE,
    serdes_errors.RegistryLoginError: ExitCode.AUTHENTICATION,
    serdes_errors.RegistryDeniedError: ExitCode.NOT_AUTHORISED,
    serdes_errors.IncompatibleSchemaError: ExitCode.DATA,
}

JOB_CODES: dict[type[BaseException], ExitCode] = {
    job_errors.JobError: ExitCode.UNEXPECTED,
    job_errors.SparkMissingError: ExitCode.USAGE,
    job_errors.SparkSetUpError: ExitCode.USAGE,
    job_errors.StreamSourceError: ExitCode.UNEXPECTED,
    job_errors.SparkFailedError: ExitCode.UNEXPECTED,
    job_errors.WorkerStartError: ExitCode.API_TIMEOUT,
    job_errors.FolderError: ExitCode.USAGE,
    job_errors.DiskError: ExitCode.DISK,
    job_errors.ExportDataError: ExitCode.DATA,
    job_errors.MirrorPositionError: ExitCode.DATA,
    job_errors.RecordLossError: ExitCode.DATA,
    job_errors.LakesMissingError: ExitCode.USAGE,
    job_errors.StoreError: ExitCode.UNEXPECTED,
    job_errors.StoreUnreachableError: ExitCode.REFUSED,
    job_errors.StoreTimeoutError: ExitCode.API_TIMEOUT,
    job_errors.StoreLoginError: ExitCode.AUTHENTICATION,
    job_errors.StoreDeniedError: ExitCode.NOT_AUTHORISED,
    job_errors.StoreMissingError: ExitCode.UNKNOWN_RESOURCE,
    job_errors.RecordDataError: ExitCode.DATA,
    job_errors.FilterTimeoutError: ExitCode.API_TIMEOUT,
}

_BROKER_CODES: dict[ExitCode, tuple[str, ...]] = {
    ExitCode.USAGE: (
        "INVALID_TOPIC_EXCEPTION",
        "TOPIC_ALREADY_EXISTS",
        "INVALID_PARTITIONS",
        "INVALID_REPLICATION_FACTOR",
        "INVALID_REPLICA_ASSIGNMENT",
        "INVALID_CONFIG",
        "INVALID_REQUEST",
        "POLICY_VIOLATION",
        "INVALID_GROUP_ID",
        "INVALID_SESSION_TIMEOUT",
        "INVALID_REQUIRED_ACKS",
        "INVALID_TRANSACTION_TIMEOUT",
        "INVALID_REGULAR_EXPRESSION",
        "SECURITY_DISABLED",
        "INVALID_PRINCIPAL_TYPE",
        "DUPLICATE_RESOURCE",
        "UNACCEPTABLE_CREDENTIAL",
    ),
    ExitCode.AUTHENTICATION: (
        "UNSUPPORTED_SASL_MECHANISM",
        "ILLEGAL_SASL_STATE",
        "SASL_AUTHENTICATION_FAILED",
        "FENCED_INSTANCE_ID",
        "UNRELEASED_INSTANCE_ID",
    ),
    ExitCode.WRONG_PEER: ("UNSUPPORTED_VERSION", "MISMATCHED_ENDPOINT_TYPE", "UNSUPPORTED_ENDPOINT_TYPE"),
    ExitCode.ADVERTISED_ADDRESS: ("INCONSISTENT_CLUSTER_ID",),
    ExitCode.NOT_ABLE_YET: (
        "LEADER_NOT_AVAILABLE",
        "NOT_LEADER_OR_FOLLOWER",
        "BROKER_NOT_AVAILABLE",
        "REPLICA_NOT_AVAILABLE",
        "COORDINATOR_LOAD_IN_PROGRESS",
        "COORDINATOR_NOT_AVAILABLE",
        "NOT_COORDINATOR",
        "NOT_CONTROLLER",
        "PREFERRED_LEADER_NOT_AVAILABLE",
        "ELIGIBLE_LEADERS_NOT_AVAILABLE",
        "NO_REASSIGNMENT_IN_PROGRESS",
        "NOT_ENOUGH_REPLICAS",
        "NOT_ENOUGH_REPLICAS_AFTER_APPEND",
        "KAFKA_STORAGE_ERROR",
        "REQUEST_TIMED_OUT",
        "FENCED_LEADER_EPOCH",
        "UNKNOWN_LEADER_EPOCH",
        "OFFSET_NOT_AVAILABLE",
        "THROTTLING_QUOTA_EXCEEDED",
        "NON_EMPTY_GROUP",
        "GROUP_SUBSCRIBED_TO_TOPIC",
    ),
    ExitCode.UNKNOWN_RESOURCE: (
        "UNKNOWN_TOPIC_OR_PARTITION",
        "UNKNOWN_TOPIC_ID",
        "GROUP_ID_NOT_FOUND",
        "TRANSACTIONAL_ID_NOT_FOUND",
        "RESOURCE_NOT_FOUND",
        "BROKER_ID_NOT_REGISTERED",
    ),
    ExitCode.DATA: (
        "CORRUPT_MESSAGE",
        "MESSAGE_TOO_LARGE",
        "RECORD_LIST_TOO_LARGE",
        "INVALID_RECORD",
        "INVALID_TIMESTAMP",
        "OFFSET_OUT_OF_RANGE",
        "UNSUPPORTED_COMPRESSION_TYPE",
        "UNSUPPORTED_FOR_MESSAGE_FORMAT",
    ),
}
BROKER_CODES = {name: code for code, names in _BROKER_CODES.items() for name in names}
"""Exit codes of broker errors by Kafka's name; the others are unexpected, or not authorised by their name."""

MOST_NODES = 10
"""Nodes whose errors are listed beside the cause; further ones are counted."""

HINTED = frozenset(
    {
        "UNKNOWN_TOPIC_OR_PARTITION",
        "TOPIC_ALREADY_EXISTS",
        "INVALID_TOPIC_EXCEPTION",
        "GROUP_ID_NOT_FOUND",
        "TRANSACTIONAL_ID_NOT_FOUND",
        "BROKER_ID_NOT_REGISTERED",
        "SECURITY_DISABLED",
        "MESSAGE_TOO_LARGE",
        "INVALID_TIMESTAMP",
        "LEADER_NOT_AVAILABLE",
        "PRODUCER_FENCED",
        "COORDINATOR_NOT_AVAILABLE",
    }
)
"""Errors of brokers that have the advice of `kctl explain` as their hint."""

OPERATIONS = {
    "AddOffsetsToTxn": "read", "AlterConfigs": "alter-configs", "ConsumerGroupHeartbeat": "read", "CreateAcls": "alter",
    "CreatePartitions": "alter", "CreateTopics": "create", "DeleteAcls": "alter", "DeleteGroups": "delete",
    "DeleteRecords": "delete", "DeleteTopics": "delete", "DescribeAcls": "describe", "DescribeConfigs":
    "describe-configs", "DescribeGroups": "describe", "DescribeTransactions": "describe", "Fetch": "read",
    "FindCoordinator": "describe", "IncrementalAlterConfigs": "alter-configs", "InitProducerId": "write", "JoinGroup":
    "read", "LeaveGroup": "read", "ListOffsets": "describe", "Metadata": "describe", "OffsetCommit": "read",
    "OffsetDelete": "delete", "OffsetFetch": "describe", "Produce": "write", "SyncGroup": "read",
}  # fmt: skip
"""The operation that an API needs on its resource."""
_TOPIC_APIS = ("CreateTopics", "CreatePartitions", "DeleteTopics")
"""APIs whose errors name the topic behind the API."""
_REFUSED = re.compile(
    r"(?P<api>[A-Z]\w+)(?: .*?\b(?P<kind>topic|group|transactional\.id) (?P<name>\S+?)| (?P<topic>[\w.-]+))?: "
)
HINTS: dict[ExitCode, str] = {
    ExitCode.DNS: "check the name, and the search domain of the resolver",
    ExitCode.NOT_AUTHORISED: "the principal of this connection needs an ACL for that",
}


def exit_code(error: BaseException) -> ExitCode:
    """Return the code of the cause: a timeout that knows what blocked it has the code of that."""
    if isinstance(error, CommandError):
        return error.code
    if isinstance(error, errors.BrokerError):
        return broker_exit_code(error.name)
    if isinstance(error, job_errors.StreamSourceError):
        return broker_exit_code(error.broker_name) if error.broker_name else class_exit_code(error.kind)
    if isinstance(error, errors.ApiTimeout) and error.cause is not None:
        blocked_by = exit_code(error.cause)
        return ExitCode.API_TIMEOUT if blocked_by is ExitCode.UNEXPECTED else blocked_by
    if isinstance(error, errors.LoginServerUnavailable):
        return exit_code(error.cause)
    if isinstance(error, errors.TransactionError):
        stopped_by = exit_code(error.cause)
        return ExitCode.UNDELIVERED if stopped_by is ExitCode.UNEXPECTED else stopped_by
    return ExitCode.USAGE if isinstance(error, PARSER_ERRORS) else class_exit_code(type(error))


def class_exit_code(kind: type[BaseException]) -> ExitCode:
    """Return the code of an error class where nothing more is known: its own, or that of its nearest base class."""
    codes = CODES | JOB_CODES | SERDES_CODES
    return next((codes[base] for base in kind.__mro__ if base in codes), ExitCode.UNEXPECTED)


def broker_exit_code(name: str) -> ExitCode:
    """Return the code of a broker's error, by Kafka's name of it."""
    if name.endswith("AUTHORIZATION_FAILED"):
        return ExitCode.NOT_AUTHORISED
    return BROKER_CODES.get(name, ExitCode.UNEXPECTED)


def explain(error: BaseException) -> Failure:
    """Return what to tell the user of an error."""
    if isinstance(error, OSError) and error.errno in job_errors.DISK_ERRORS:
        error = file_error("cannot write", error)  # mostly of click, which writes help to stdout
    if isinstance(error, OSError) and error.errno in (errno.EMFILE, errno.ENFILE):
        hint = "ulimit -n shows how many files and connections this process may open"
        error = CommandError(ExitCode.USAGE, f"cannot open a file or connection: {error.strerror}", hint)
    code = exit_code(error)
    details = _details(error)
    message = _message(error)
    if isinstance(error, errors.KafkaError) and error.outcome_unknown:
        message = f"{message}; the change may have been made"
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
    """Return the command that adds the ACL, behind a colon; empty if the error does not name API and resource."""
    found = _REFUSED.match(str(error))
    operation = None if found is None else OPERATIONS.get(found["api"])
    if found is None or operation is None:
        return ""
    from kctl.grammar.command_lines import fill_command  # wanted only for mistakes

    command = f"kctl acls create --allow PRINCIPAL --operation {operation}"
    if error.name == "CLUSTER_AUTHORIZATION_FAILED":
        return f": {command} --cluster"
    kind, name = found["kind"], found["name"]
    if kind is None and found["api"] in _TOPIC_APIS:
        kind, name = "topic", found["topic"]
    if kind is None or name is None:
        return ""
    option = kind.replace(".", "-")
    return ": " + fill_command(f"{command} --{option} {{name}}", {"name": name})


def _root_cause(error: BaseException) -> BaseException:
    """Return the error at the end of the chain of causes, as far as the exit code follows it."""
    cause = error.__cause__ if isinstance(error, CommandError) else getattr(error, "cause", None)
    if isinstance(error, errors.AdvertisedAddressError) or not isinstance(cause, errors.KafkaError):
        return error
    return _root_cause(cause)


def _origin(error: BaseException) -> tuple[str, str, str]:
    """Return name, broker and phase of an error; only errors of brokers and of the client have a name."""
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
        return _sentence(error)
    if isinstance(error, errors.KafkaTimeoutError):
        return error.summary
    if isinstance(error, CommandError):
        return str(error.args[0])
    if isinstance(error, errors.KafkaError):
        return str(error)
    return f"unexpected error, which is a bug: {type(error).__name__}: {error}"


def _sentence(error: Any) -> str:
    """Return what is wrong with a command line; of an unknown command or option, what was meant."""
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
    rest = f"There are: {', '.join(names)}." if meant is None else f"Did you mean '{meant}'?"
    return f"No such command '{name}'. {rest}"


def _no_such_option(name: str, ctx: Any) -> str:
    from kctl.cli.suggestions import Unknown, did_you_mean  # as above

    known = [option for each in ctx.command.get_params(ctx) for option in (*each.opts, *each.secondary_opts)]
    command = " ".join(ctx.command_path.split()[1:3])
    meant = did_you_mean(Unknown.OPTION, name, known, command)
    rest = "" if meant is None else f" Did you mean '{meant}'?"
    return f"No such option '{name}'.{rest}"


def _plain_number(sentence: str) -> str:
    """Return a sentence of the parser about a number in plain words."""
    sentence = _NO_NUMBER.sub(r"\1 is not a whole number.", sentence)
    return _OUT_OF_RANGE.sub(lambda found: f"{found[1]} is not allowed: {_range_text(found[2])}.", sentence)


def _range_text(text: str) -> str:
    """Return a range such as `1<=x<=250` in words."""
    low, _, high = text.partition("<=x")
    if low == text:  # x>=1 or x<=9
        return f"at least {text[3:]}" if text.startswith("x>=") else f"at most {text[3:]}"
    return f"from {low} to {high.removeprefix('<=')}"


def _details(error: BaseException) -> list[str]:
    """Return where the time of a timeout went, and what is wrong with the nodes that are not its cause."""
    if isinstance(error, CommandError):
        return list(error.details)
    if not isinstance(error, errors.KafkaTimeoutError):
        return []
    account = error.account
    lines = [f"{error.limit}={error.timeout_ms}: {account}"] if str(account) else []
    causes = (str(error.cause), "" if error.cause is None else str(error.cause.__cause__))
    others = [str(each) for each in account.node_errors if str(each) not in causes]
    more = [f"and {len(others) - MOST_NODES} more nodes"] if len(others) > MOST_NODES else []
    forwarded = getattr(_root_cause(error), "forwarded", "")
    if forwarded:
        lines.append(
            f"KRaft brokers forward {forwarded} to the controller; check the controllers with: kctl why cluster"
        )
    return [*lines, *(f"also {other}" for other in others[:MOST_NODES]), *more]


def _hint(error: BaseException, code: ExitCode) -> str:
    if isinstance(error, CommandError | job_errors.JobError | serdes_errors.SerdesError):
        return error.hint
    if isinstance(error, errors.KafkaTimeoutError | errors.TransactionError) and error.cause is not None:
        return _hint(error.cause, code)
    if isinstance(error, errors.TransportError | errors.BrokerError) and error.hint:
        return error.hint
    if isinstance(error, errors.ConfigError) and error.key == "bootstrap.servers":
        return "-b HOST:PORT, or start a cluster to try with: kctl sandbox start"
    if (
        isinstance(error, errors.ConfigError)
        and error.key == "sasl.jaas.config"
        and "needs sasl.jaas.config" in str(error)
    ):
        return "use -X sasl.username=NAME with the password in $KCTL_SASL_PASSWORD"
    if isinstance(error, errors.BrokerError) and error.name in HINTED:
        from kctl.cli.explanations.advice import broker_hint  # wanted only for mistakes

        return broker_hint(error.name)
    if isinstance(error, errors.AuthorizationError):
        return f"{HINTS[ExitCode.NOT_AUTHORISED]}{_acl_command(error)}"
    return HINTS.get(code, "")
