"""From exceptions to exit codes and lines: complete, by cause, and without secrets."""

import inspect
from types import ModuleType

import pytest

from kctl.cli import click
from kctl.cli.exit_codes import ExitCode, exit_code_of
from kctl.cli.explanations.advice import HINTED
from kctl.cli.explanations.code_pages import broker_page
from kctl.cli.explanations.exit_codes import CODE_PAGES
from kctl.cli.failures import (
    MOST_NODES,
    OPERATIONS,
    CommandError,
    Failure,
    exit_code,
    explain,
)
from kctl.client import errors
from kctl.client.broker_errors import KINDS, ErrorCode, broker_error
from kctl.pipeline import job_errors
from kctl.pipeline.job_errors import JobError
from kctl.serdes import errors as serdes_errors
from tests.support.in_process import run_in_process

UNEXPECTED = {
    errors.IllegalStateError,
    errors.ConcurrentModificationError,
    errors.WakeupError,
    errors.BrokerError,
    job_errors.StreamSourceError,
    job_errors.SparkFailedError,
    job_errors.StoreError,
}
"""Classes whose errors are not expected, or that have a kind for each error."""


@pytest.mark.parametrize("module", [errors, job_errors, serdes_errors])
def test_every_error_class_has_a_kind_of_its_own_or_of_a_class_that_is_not_general(module: ModuleType) -> None:
    kinds = [each for each in vars(module).values() if inspect.isclass(each) and issubclass(each, errors.KafkaError)]
    assert len(kinds) > 5
    general = {errors.KafkaError, errors.TransportError, errors.ProtocolError, JobError}
    for kind in set(kinds) - general - UNEXPECTED:
        decided = next(base for base in kind.__mro__ if "kind" in vars(base))
        assert decided not in general, kind


def test_each_kind_of_error_has_an_exit_code_with_a_page() -> None:
    codes = [exit_code_of(kind) for kind in errors.ErrorKind]
    assert len(set(codes)) == len(codes)
    assert set(codes) <= set(CODE_PAGES) == set(ExitCode)
    assert [code.text for code in codes] == [kind.value for kind in errors.ErrorKind]


def test_errors_of_jobs_have_their_codes() -> None:
    assert explain(job_errors.SparkMissingError("no Spark", "install it")).lines() == ["no Spark", "hint: install it"]
    assert exit_code(job_errors.ExportDataError("x")) is ExitCode.DATA


def test_every_broker_error_named_exists() -> None:
    assert set(KINDS) | HINTED <= set(ErrorCode.__members__)


@pytest.mark.parametrize("name", sorted(HINTED))
def test_hint_of_a_broker_error_is_the_advice_of_explain(name: str) -> None:
    hint = explain(broker_error(ErrorCode[name], "Metadata")).hint
    page = broker_page(ErrorCode[name])
    assert hint.lower() == ". ".join(line.removesuffix(".") for line in page.try_).lower()
    assert not hint.endswith(".")
    assert hint[0].islower()


@pytest.mark.parametrize(
    ("code", "expected"),
    [
        (ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, ExitCode.UNKNOWN_RESOURCE),
        (ErrorCode.TOPIC_AUTHORIZATION_FAILED, ExitCode.NOT_AUTHORIZED),
        (ErrorCode.CLUSTER_AUTHORIZATION_FAILED, ExitCode.NOT_AUTHORIZED),
        (ErrorCode.LEADER_NOT_AVAILABLE, ExitCode.UNAVAILABLE),
        (ErrorCode.MESSAGE_TOO_LARGE, ExitCode.DATA),
        (ErrorCode.SASL_AUTHENTICATION_FAILED, ExitCode.AUTHENTICATION),
        (ErrorCode.TOPIC_ALREADY_EXISTS, ExitCode.USAGE),
        (ErrorCode.UNKNOWN_SERVER_ERROR, ExitCode.UNEXPECTED),
        (12_345, ExitCode.UNEXPECTED),
    ],
)
def test_broker_errors(code: int, expected: ExitCode) -> None:
    assert exit_code(broker_error(code, "Metadata")) is expected


def test_login_without_its_server_has_the_code_of_what_that_server_did() -> None:
    for cause in (errors.DnsError("x"), errors.ConnectionRefused("x"), errors.TlsClosed("x")):
        assert exit_code(errors.LoginServerUnavailable("no token", cause)) is exit_code(cause)


def test_a_lost_transaction_has_the_code_and_the_hint_of_its_cause() -> None:
    """Fault 53."""
    fenced = errors.FatalTransactionError(broker_error(ErrorCode.PRODUCER_FENCED, "end the transaction"))
    failure = explain(fenced)
    assert (failure.code, failure.hint) == (
        ExitCode.UNDELIVERED,
        "give each process its own transactional.id",
    )
    assert "the producer can only be closed: cannot end the transaction: " in failure.message
    refused = errors.AbortableTransactionError(broker_error(ErrorCode.TOPIC_AUTHORIZATION_FAILED, "produce"))
    assert exit_code(refused) is ExitCode.NOT_AUTHORIZED


def _api_timeout(cause: errors.KafkaError | None) -> errors.ApiTimeout:
    return errors.ApiTimeout("waiting for metadata", timeout_ms=1000, elapsed_ms=1000, cause=cause)


def test_api_timeout_without_a_cause_is_its_own() -> None:
    assert exit_code(_api_timeout(None)) is ExitCode.API_TIMEOUT


@pytest.mark.parametrize(
    ("cause", "expected"),
    [
        (errors.ConnectionRefused("x"), ExitCode.REFUSED),
        (errors.ConnectTimeout("x", limit_ms=1, elapsed_ms=1), ExitCode.CONNECT_TIMEOUT),
        (errors.RequestTimeout("x", timeout_ms=1, elapsed_ms=1), ExitCode.REQUEST_TIMEOUT),
        (errors.IllegalStateError("x"), ExitCode.API_TIMEOUT),
    ],
)
def test_api_timeout_has_the_code_of_what_blocked_it(cause: errors.KafkaError, expected: ExitCode) -> None:
    assert exit_code(_api_timeout(cause)) is expected


def test_a_timeout_tells_where_the_time_went_and_what_is_wrong_with_the_other_nodes() -> None:
    cause, other = errors.ConnectionRefused("a:1: refused"), errors.DnsError("b:2: NXDOMAIN")
    account = errors.Account(("back-off 990 ms", "dns 10 ms"), 3, (cause, other))
    timeout = errors.ApiTimeout("listing", timeout_ms=1000, elapsed_ms=1001, cause=cause, account=account)
    assert explain(timeout).lines() == [
        "timed out after 1s (--api-timeout) while listing; last error: a:1: refused",
        "  default.api.timeout.ms=1000: back-off 990 ms, dns 10 ms; 3 connection attempts",
        "  also b:2: NXDOMAIN",
    ]
    assert "[back-off 990 ms, dns 10 ms; 3 connection attempts]; last error" in str(timeout)


def test_error_that_ended_a_connection_is_reported_once() -> None:
    damage = errors.RemoteProtocolError("a:1: the answer is damaged")
    cause = errors.ConnectionLost("a:1: connection closed: a:1: the answer is damaged")
    cause.__cause__ = damage
    account = errors.Account(node_errors=(damage, errors.DnsError("b:2: NXDOMAIN")))
    timeout = errors.ApiTimeout("listing", timeout_ms=1000, elapsed_ms=1000, cause=cause, account=account)
    assert [line for line in explain(timeout).lines() if "also" in line] == ["  also b:2: NXDOMAIN"]


def test_of_many_nodes_some_are_named() -> None:
    account = errors.Account(node_errors=tuple(errors.DnsError(f"host{i}") for i in range(MOST_NODES + 3)))
    timeout = errors.ApiTimeout("listing", timeout_ms=1, elapsed_ms=1, cause=account.node_errors[0], account=account)
    assert len(explain(timeout).details) == MOST_NODES + 1
    assert explain(timeout).details[-1] == "and 2 more brokers"


def test_an_advertised_address_that_does_not_work_has_its_own_code() -> None:
    error = errors.AdvertisedAddressError(1, errors.ConnectionRefused("127.0.0.1:9092: refused"), hint="fix it")
    assert exit_code(_api_timeout(error)) is ExitCode.ADVERTISED_ADDRESS
    assert explain(_api_timeout(error)).hint == error.hint


def test_the_hint_is_that_of_the_cause() -> None:
    cause = errors.ConnectionRefused("refused", hint="nothing listens on this port")
    assert explain(_api_timeout(cause)).hint == "nothing listens on this port"


def test_a_command_error_says_what_it_was_made_with() -> None:
    failure = explain(CommandError(ExitCode.UNDELIVERED, "3 records", "look at the broker"))
    assert failure == Failure(ExitCode.UNDELIVERED, "3 records", "look at the broker")


def test_usage() -> None:
    assert explain(click.UsageError("no such option")) == Failure(ExitCode.USAGE, "no such option")


def test_a_bug_is_named_one() -> None:
    failure = explain(ZeroDivisionError("division by zero"))
    assert failure.code is ExitCode.UNEXPECTED
    assert "ZeroDivisionError: division by zero" in failure.message


def test_control_characters_never_show() -> None:
    failure = explain(errors.AuthenticationError("refused \x1b[2Jhere"))
    assert failure.message == "refused \\x1b[2Jhere"


@pytest.mark.parametrize(
    ("code", "what", "command"),
    [
        (ErrorCode.TOPIC_AUTHORIZATION_FAILED, "describe topic secret", "describe --topic secret"),
        (ErrorCode.TOPIC_AUTHORIZATION_FAILED, "describe topic a;b", "describe --topic 'a;b'"),
        (ErrorCode.GROUP_AUTHORIZATION_FAILED, "describe group g", "describe --group g"),
        (
            ErrorCode.TRANSACTIONAL_ID_AUTHORIZATION_FAILED,
            "describe transactional.id t1",
            "describe --transactional-id t1",
        ),
        (ErrorCode.CLUSTER_AUTHORIZATION_FAILED, "describe ACLs", "describe --cluster"),
        (ErrorCode.CLUSTER_AUTHORIZATION_FAILED, "obtain a producer id", "idempotent-write --cluster"),
        (ErrorCode.CLUSTER_AUTHORIZATION_FAILED, "produce to t-0 on broker 2", "idempotent-write --cluster"),
        (ErrorCode.GROUP_AUTHORIZATION_FAILED, "commit the offset of t-0 for group g", "read --group g"),
        (ErrorCode.TOPIC_AUTHORIZATION_FAILED, "create topic a.b-1", "create --topic a.b-1"),
        (ErrorCode.TOPIC_AUTHORIZATION_FAILED, "delete topic t", "delete --topic t"),
        (ErrorCode.TOPIC_AUTHORIZATION_FAILED, "add partitions to topic t", "alter --topic t"),
    ],
)
def test_denied_request_has_the_command_that_adds_the_acl(code: ErrorCode, what: str, command: str) -> None:
    hint = explain(broker_error(code, what)).hint
    assert hint == (
        f"create an ACL for the principal of this connection: kctl acls create --allow PRINCIPAL --operation {command}"
    )


@pytest.mark.parametrize(
    "what",
    [
        "commit offsets",
        "commit the offset of t-0 for group g",
        "delete the offset of t-0 for group g",
        "produce to t-0 on broker 2",
        "delete records of t-0",
        "do more with topic t",
    ],
)
def test_denied_request_without_a_resource_has_no_command(what: str) -> None:
    hint = explain(broker_error(ErrorCode.TOPIC_AUTHORIZATION_FAILED, what)).hint
    assert hint == "create an ACL for the principal of this connection"


@pytest.mark.parametrize("operation", sorted(set(OPERATIONS.values())))
def test_operation_of_a_hint_is_one_of_a_resource(operation: str) -> None:
    resources = (("--topic", "t"), ("--group", "g"), ("--cluster",))
    lines = (("acls", "create", "--allow", "User:a", "--operation", operation, *each) for each in resources)
    assert any("bootstrap.servers is not set" in run_in_process(*line).stderr for line in lines)
