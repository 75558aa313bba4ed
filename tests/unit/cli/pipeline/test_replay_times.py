"""`pipeline replay --since -1h` is another time in each run, so kctl says which: a run that continues needs it."""

import pytest

from kctl.cli.exit_codes import ExitCode
from kctl.client.clock import ManualClock
from tests.support.in_process import run_in_process

AT_MS = 1_764_110_000_123


@pytest.mark.parametrize(
    ("given", "said"),
    [("-1h", str(AT_MS - 3_600_000)), ("now", str(AT_MS)), ("2024-05-01T12:00:00.5Z", ""), ("1700000000123", "")],
)
def test_a_time_that_depends_on_the_present_is_said_as_an_instant(given: str, said: str) -> None:
    refused = ("--offset", "3:1")  # so nothing is read
    arguments = ("pipeline", "replay", "t", "--to-topic", "u", "-b", "127.0.0.1:1", "--since", given, *refused)
    ended = run_in_process(*arguments, clock=ManualClock(wall_ms=AT_MS))
    assert ended.code == ExitCode.USAGE
    assert "invalid --offset '3:1' for all partitions: use an end that is not before the start" in ended.stderr
    line = f"kctl pipeline: --since {given} is {said} in this run. To continue this run later, use --since {said}\n"
    assert (line in ended.stderr) == bool(said)
    assert ("To continue this run" in ended.stderr) == bool(said)
    if said:
        again = run_in_process(*arguments[:-3], said, *refused, clock=ManualClock(wall_ms=AT_MS + 5000))
        assert "To continue this run" not in again.stderr


def test_a_named_replay_takes_no_time_that_depends_on_the_present() -> None:
    """It would continue behind records that were not in its window before."""
    arguments = ("pipeline", "replay", "t", "--to-topic", "u", "-b", "127.0.0.1:1", "--name", "n", "--offset", "3:1")
    ended = run_in_process(*arguments, "--until", "-1h", clock=ManualClock(wall_ms=AT_MS))
    assert ended.code == ExitCode.USAGE
    said = f"--until -1h gives another time in each run, which --name does not allow: use --until {AT_MS - 3_600_000}."
    assert said in ended.stderr
    given = run_in_process(*arguments, "--until", str(AT_MS), clock=ManualClock(wall_ms=AT_MS))
    assert "invalid --offset '3:1' for all partitions: use an end that is not before the start" in given.stderr
