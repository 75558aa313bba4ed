from kctl.client.clock import FOREVER_MS
from kctl.client.consumer.group.timers import Heartbeat, Liveness


def test_a_heartbeat_is_due_an_interval_after_the_last_was_sent() -> None:
    beat = Heartbeat(3000, 100)
    assert beat.due_at_ms() == 0
    beat.sent(1000)
    assert beat.due_at_ms() == FOREVER_MS, "one at a time"
    beat.ended(1200, is_ok=True)
    assert beat.due_at_ms() == 4000


def test_a_failed_heartbeat_is_tried_again_soon_but_not_later_than_planned() -> None:
    beat = Heartbeat(3000, 100)
    beat.sent(1000)
    beat.ended(1200, is_ok=False)
    assert beat.due_at_ms() == 1300
    beat.sent(1300)
    beat.ended(9000, is_ok=False)
    assert beat.due_at_ms() == 4300


def test_another_answer_counts_as_a_heartbeat() -> None:
    beat = Heartbeat(3000, 100)
    beat.restart(500)
    assert beat.due_at_ms() == 3500


def test_liveness_runs_outside_of_poll_alone() -> None:
    liveness = Liveness(5000)
    assert liveness.expires_at_ms == FOREVER_MS
    liveness.poll_ended(1000)
    assert liveness.expires_at_ms == 6000
    liveness.poll_began()
    assert liveness.expires_at_ms == FOREVER_MS
