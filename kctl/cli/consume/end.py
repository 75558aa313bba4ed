"""The report on a consumer's end: what was not committed or not left, why, and the exit code of that."""

from kctl.cli.exit_codes import ExitCode
from kctl.cli.failures import Failure, explain
from kctl.cli.interrupts import Interrupted
from kctl.cli.options import Common
from kctl.client.clock import Timer
from kctl.client.config import ConsumerConfig
from kctl.client.consumer import COMMITTING, LEAVING, CloseResult, Consumer
from kctl.client.errors import KafkaError
from kctl.grammar.durations import show_duration

_PHASES = {COMMITTING: "commit", LEAVING: "leave-group"}


def close_consumer(consumer: Consumer, timer: Timer) -> tuple[CloseResult, Interrupted | None]:
    """Close within the timer, and return the signal that came meanwhile: the first one keeps what is left of it."""
    try:
        return consumer.close(timer.remaining_ms / 1000), None
    except Interrupted as interrupted:
        timer.update()
        return consumer.close(timer.remaining_ms / 1000), interrupted


def report_close(common: Common, config: ConsumerConfig, closed: CloseResult, commit_error: KafkaError | None) -> int:
    """Say what was not achieved, and return the exit code of that.

    Args: commit_error: why the latest commit failed.
    """
    if closed.expired_in is not None:
        failure = Failure(ExitCode.CLOSE_TIMEOUT, _stopped(common, config, closed, commit_error))
    elif closed.committed is False:
        failure = Failure(ExitCode.UNEXPECTED, "there was no time") if commit_error is None else explain(commit_error)
        failure = failure._replace(message=f"the last offsets are not committed: {failure.message}")
    else:
        return ExitCode.OK
    common.environment.say_failure(failure, is_error=False)
    return failure.code


def _stopped(common: Common, config: ConsumerConfig, closed: CloseResult, commit_error: KafkaError | None) -> str:
    phase = _PHASES.get(closed.expired_in or "", "end of the network thread")
    if common.close_timeout_ms:
        parts = [f"close stopped at {closed.elapsed_ms} ms (--close-timeout) in phase {phase}"]
    else:
        parts = [f"closed without waiting for the response to {phase} (--close-timeout 0s)"]
    if closed.committed is not None:
        cause = None if closed.committed else getattr(commit_error, "cause", None)
        why = "" if cause is None else f" ({cause})"
        parts.append(f"offsets committed: {'yes' if closed.committed else 'no'}{why}")
    if closed.left_group is False:
        classic = config.group_protocol == "classic"
        when = f"in {show_duration(config.session_timeout_ms)}" if classic else "after its session timeout"
        parts.append(f"group frees member {when}")
    return "; ".join(parts)
