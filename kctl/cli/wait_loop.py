"""Loop of commands that wait."""

from collections.abc import Callable

from kctl.cli.exit_codes import ExitCode
from kctl.cli.failures import CommandError
from kctl.cli.formats.listing import Listing, write_listing
from kctl.cli.formats.rows import Row
from kctl.cli.options import Common
from kctl.client.admin import Admin
from kctl.client.clock import Timer, duration_text
from kctl.client.config import AdminConfig
from kctl.client.errors import ApiTimeout, BrokerError, KafkaError
from kctl.client.network.system import system_runtime
from kctl.client.runtime import Runtime

COLUMNS = ("item", "result", "elapsed_ms")
INTERVAL_MS = 500
NOTHING_SEEN = "no broker has responded"


def wait_until(common: Common, what: str, missing: Callable[[Admin], str]) -> int:
    """Wait until nothing is missing, and return OK. Unlike other commands, do not fail fast.

    Args: missing: return the unmet conditions in words; empty if all are met.
    Raises:
        CommandError: the API timeout passed.
        KafkaError: an error is not retriable.
    """
    config = common.settings.parse(AdminConfig)
    common.note_ignored(config)
    runtime = system_runtime()
    timer = Timer(runtime.clock, config.default_api_timeout_ms)
    with Admin(config, events=common.events) as admin, admin.within():
        look_until(runtime, timer, "--api-timeout", what, lambda: missing(admin))
    if common.output is not None:
        timer.update()
        row: Row = {"item": what, "result": "reached", "elapsed_ms": timer.elapsed_ms}
        write_listing(common.environment, common.output, Listing("waits", COLUMNS, [row]))
    return ExitCode.OK


def look_until(
    runtime: Runtime,
    timer: Timer,
    limit: str,
    what: str,
    missing: Callable[[], str],
    interval_ms: int = INTERVAL_MS,
) -> None:
    """Call `missing` until it returns "".

    Args: limit: option that set the timer.
    Raises:
        CommandError: the timer expired.
        ApiTimeout: one call timed out before the timer expired.
        KafkaError: an error is not retriable.
    """
    waiter = runtime.driver.waiter()
    last = NOTHING_SEEN
    while True:
        began_at_ms = runtime.clock.now_ms()
        try:
            last = missing()
            if not last:
                return
        except ApiTimeout as error:
            timer.update()
            if timer.not_expired:
                raise
            is_brief = timer.now_ms - began_at_ms < interval_ms
            raise _timed_out(timer.timeout_ms, limit, what, _with_cause(last, error.cause, is_brief)) from error
        except KafkaError as error:
            if not error.retriable:
                raise
            last = str(error)
        timer.update()
        if timer.is_expired:
            raise _timed_out(timer.timeout_ms, limit, what, last)
        runtime.driver.wait(waiter, min(runtime.clock.start_ms() + interval_ms, timer.deadline_at_ms))


def _with_cause(last: str, cause: KafkaError | None, is_brief: bool) -> str:
    """Return the unmet conditions with the cause of the last timeout.

    Args: is_brief: the last check was too short, so its cause means nothing.
    """
    if cause is None or (is_brief and last is not NOTHING_SEEN):
        return last
    if not isinstance(cause, BrokerError):
        return f"{last} ({cause})"
    return str(cause) if last is NOTHING_SEEN else last


def _timed_out(timeout_ms: int, limit: str, what: str, missing: str) -> CommandError:
    text = f"timed out after {duration_text(timeout_ms)} ({limit}) while waiting for {what}: {missing}"
    return CommandError(ExitCode.API_TIMEOUT, text)
