"""Environment.say: one line for each call, whatever is in it."""

import io

import pytest

from kctl.cli.environment import ClosingNotice, Environment, Secrets
from kctl.cli.exit_codes import ExitCode
from kctl.cli.failures import CommandError, explain
from kctl.client.clock import ManualClock
from kctl.client.errors import AuthenticationError, KafkaError

HOSTILE = "a\nhint: b\r\x1b[31m\x9b\u202e\u2028c"
SHOWN = r"a\x0ahint: b\x0d\x1b[31m\x9b\u202e\u2028c"


def environment(stderr: io.StringIO) -> Environment:
    return Environment(
        stdin=io.BytesIO(),
        stdout=io.BytesIO(),
        stderr=stderr,
        environ={},
        clock=ManualClock(),
        closing_notice=ClosingNotice(),
        secrets=Secrets(),
    )


def test_line_stays_one_line_and_steers_no_terminal() -> None:
    stderr = io.StringIO()
    environment(stderr).say(HOSTILE, painted=" \x1b[32mdone\x1b[0m")
    assert stderr.getvalue() == f"{SHOWN} \x1b[32mdone\x1b[0m\n"


def test_failure_has_a_line_for_message_detail_and_hint() -> None:
    stderr = io.StringIO()
    environment(stderr).say_failure(explain(CommandError(ExitCode.DATA, HOSTILE, HOSTILE, (HOSTILE, "d"))))
    assert stderr.getvalue().splitlines() == [f"kctl: {SHOWN}", f"  {SHOWN}", "  d", f"hint: {SHOWN}"]


@pytest.mark.parametrize("kind", [KafkaError, AuthenticationError])
def test_error_of_the_client_is_one_line(kind: type[KafkaError]) -> None:
    assert str(kind(HOSTILE)) == f"{kind(HOSTILE)}" == SHOWN
