"""The loop of `kctl wait`: look, and look again a moment later, until nothing is missing or the API timeout has passed.

Shown by tests/sim/admin/test_wait.py.
"""

from collections.abc import Callable

from kctl.cli.exit_codes import ExitCode
from kctl.cli.failures import CommandError
from kctl.cli.options import Common
from kctl.client.admin import Admin
from kctl.client.clock import Timer, duration_text
from kctl.client.config import AdminConfig
from kctl.client.errors import ApiTimeout, KafkaError
from kctl.client.network.system import system_runtime

INTERVAL_MS = 500


def wait_until(common: Common, what: str, missing: Callable[[Admin], str]) -> int:
    """Return OK as soon as nothing is missing.

    Brokers that refuse connections are waited for, too: unlike other commands it does not fail fast by itself.

    Args: missing: returns in words what is not as it should be; empty when all is.
    Raises: CommandError: the API timeout has passed. KafkaError: no wait can cure it.
    """
    config = common.settings.parse(AdminConfig)
    common.note_ignored(config)
    runtime = system_runtime()
    waiter = runtime.driver.waiter()
    timer = Timer(runtime.clock, config.default_api_timeout_ms)
    last = "no broker has answered"
    with Admin(config, events=common.events) as admin, admin.within():
        while True:
            try:
                last = missing(admin)
                if not last:
                    return ExitCode.OK
            except ApiTimeout as error:
                cause = f" ({error.cause})" if error.cause is not None else ""
                raise _timed_out(timer.timeout_ms, what, last + cause) from error
            except KafkaError as error:
                if not error.retriable:
                    raise
                last = str(error)
            timer.update()
            if timer.is_expired:
                raise _timed_out(timer.timeout_ms, what, last)
            runtime.driver.wait(waiter, min(runtime.clock.start_ms() + INTERVAL_MS, timer.deadline_at_ms))


def _timed_out(timeout_ms: int, what: str, missing: str) -> CommandError:
    limit = duration_text(timeout_ms)
    return CommandError(
        ExitCode.API_TIMEOUT, f"timed out after {limit} (--api-timeout) while waiting for {what}: {missing}"
    )
