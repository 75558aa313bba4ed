"""What is told of a close that did not do everything."""

import io

import pytest

from kctl.cli.consume.run import report_close
from kctl.cli.environment import ClosingNotice, Environment, Secrets
from kctl.cli.exit_codes import ExitCode
from kctl.cli.options import Common
from kctl.cli.settings import Settings
from kctl.client.broker_errors import ErrorCode, broker_error
from kctl.client.clock import ManualClock
from kctl.client.config import ConsumerConfig
from kctl.client.consumer.close import COMMITTING, ENDING, LEAVING
from kctl.client.errors import KafkaError
from kctl.client.loop.close import CloseResult

STOPPED = "kctl consume: close timed out after 2000ms (--close-timeout) in phase "
DENIED = broker_error(ErrorCode.GROUP_AUTHORIZATION_FAILED, "OffsetCommit")


def _closed(committed: bool | None, left_group: bool | None, expired_in: str | None, elapsed_ms: int) -> CloseResult:
    return CloseResult(committed=committed, left_group=left_group, expired_in=expired_in, elapsed_ms=elapsed_ms)


@pytest.mark.parametrize(
    ("closed", "protocol", "error", "code", "said"),
    [
        (_closed(None, None, None, 5), "classic", None, ExitCode.OK, ""),
        (_closed(True, True, None, 5), "classic", None, ExitCode.OK, ""),
        (
            _closed(True, False, LEAVING, 2000),
            "classic",
            None,
            ExitCode.CLOSE_TIMEOUT,
            f"{STOPPED}leave-group; offsets committed: yes; the group removes this member in 45s\n",
        ),
        (
            _closed(False, False, COMMITTING, 2000),
            "consumer",
            None,
            ExitCode.CLOSE_TIMEOUT,
            f"{STOPPED}commit; offsets committed: no; the group removes this member after its session timeout\n",
        ),
        (
            _closed(None, None, ENDING, 2000),
            "classic",
            None,
            ExitCode.CLOSE_TIMEOUT,
            f"{STOPPED}end of the network thread\n",
        ),
        (
            _closed(False, True, None, 5),
            "classic",
            DENIED,
            ExitCode.NOT_AUTHORIZED,
            f"kctl consume: cannot commit the last offsets: {DENIED}\n"
            "hint: create an ACL for the principal of this connection\n",
        ),
        (
            _closed(False, True, None, 5),
            "classic",
            None,
            ExitCode.UNEXPECTED,
            "kctl consume: cannot commit the last offsets: no time was left for the commit\n",
        ),
    ],
)
def test_a_close(closed: CloseResult, protocol: str, error: KafkaError | None, code: ExitCode, said: str) -> None:
    assert _told(closed, protocol, error, close_ms=2000) == (code, said), "even with --quiet"


def test_close_with_zero_timeout_names_the_response_that_was_not_awaited() -> None:
    assert _told(_closed(True, False, LEAVING, 0), "classic", None, close_ms=0) == (
        ExitCode.CLOSE_TIMEOUT,
        "kctl consume: closed without waiting for the response to leave-group (--close-timeout 0s); "
        "offsets committed: yes; the group removes this member in 45s\n",
    )


def _told(closed: CloseResult, protocol: str, error: KafkaError | None, *, close_ms: int) -> tuple[int, str]:
    stderr = io.StringIO()
    environment = Environment(
        io.BytesIO(),
        io.BytesIO(),
        stderr,
        {},
        ManualClock(),
        closing_notice=ClosingNotice(),
        secrets=Secrets(),
        program="kctl consume",
    )
    common = Common(environment, Settings({}), close_ms, None, True, False)
    config = ConsumerConfig.parse({"bootstrap.servers": "a:1", "group.id": "g", "group.protocol": protocol})
    return report_close(common, config, closed, error), stderr.getvalue()
