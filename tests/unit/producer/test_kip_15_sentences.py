"""KIP-15, sentence by sentence in our words: each is"""

import ast
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[3]
SIM = "tests/sim/producer/test_kip_15.py"
THREADS = "tests/loopback/producer/test_kip_15.py"

SENTENCES: dict[str, dict[str, tuple[str, ...]]] = {
    "a close with a timeout first waits for what is pending": {
        SIM: ("test_a_close_waits_for_pending_records_and_ends_with_the_last_of_them",),
    },
    "what is not sent by the deadline fails, by force": {
        SIM: ("test_a_close_that_does_not_finish_in_time_fails_what_is_left_with_a_cause",),
    },
    "0 does not wait, fails everything incomplete and closes": {
        SIM: ("test_close_0_does_not_wait_and_fails_all_that_is_incomplete_at_once",),
        THREADS: ("test_close_0_sends_nothing_more",),
    },
    "the sender thread fails the rest": {
        THREADS: ("test_the_sender_thread_fails_the_rest_and_has_ended_when_close_returns",),
    },
    "close waits for the sender thread to end": {
        SIM: ("test_close_waits_for_the_loop_but_not_past_its_deadline",),
        THREADS: (
            "test_the_sender_thread_fails_the_rest_and_has_ended_when_close_returns",
            "test_a_blocked_callback_makes_close_say_so_and_a_later_close_ends_well",
        ),
    },
    "a negative timeout is an error of the caller": {
        SIM: ("test_a_negative_timeout_is_an_error_of_the_caller_and_closes_nothing",),
    },
    "it works on a user's thread and on the sender thread": {
        SIM: ("test_in_a_callback_an_error_is_logged_and_close_acts_as_0",),
        THREADS: ("test_closes_of_many_threads_and_one_callback_all_end_and_agree",),
    },
    "on the sender thread a close without a timeout would wait for itself: an error is logged, and it acts as 0": {
        SIM: ("test_in_a_callback_an_error_is_logged_and_close_acts_as_0",),
        THREADS: ("test_close_in_a_callback_logs_an_error_and_acts_as_0",),
    },
    "on the sender thread a close with a timeout is the same, and does not even block for that long": {
        SIM: ("test_in_a_callback_an_error_is_logged_and_close_acts_as_0",),
        THREADS: (
            "test_close_in_a_callback_logs_an_error_and_acts_as_0",
            "test_closes_in_callbacks_of_a_failing_close_are_harmless",
        ),
    },
    "it may be called again, and is idempotent": {
        SIM: (
            "test_close_is_idempotent_whatever_the_timeouts",
            "test_a_later_close_with_an_earlier_deadline_cuts_the_first_short",
        ),
        THREADS: ("test_closes_of_many_threads_and_one_callback_all_end_and_agree",),
    },
    "once forced, nothing more is sent": {
        SIM: ("test_after_a_forced_close_nothing_more_is_sent",),
        THREADS: ("test_close_0_sends_nothing_more",),
    },
    "once forced, who waits in a synchronous send or in flush is woken": {
        SIM: ("test_a_forced_close_wakes_who_waits_in_send_flush_result_and_partitions_for",),
        THREADS: ("test_a_forced_close_wakes_threads_in_send_flush_result_and_partitions_for",),
    },
    "metrics and other resources are released": {
        SIM: ("test_close_releases_buffers_connections_and_the_loop_and_keeps_the_counts",),
        THREADS: ("test_a_producer_left_in_every_state_is_released",),
    },
    "after a failed send a user can close at once, so that nothing behind it is written": {
        SIM: ("test_after_a_failed_send_a_close_in_its_callback_keeps_all_behind_it_from_being_written",),
        THREADS: ("test_after_a_failed_send_a_close_in_its_callback_keeps_all_behind_it_from_being_written",),
    },
    "a close without a timeout is as it was: it waits until all is sent or has failed": {
        SIM: ("test_close_without_a_timeout_waits_for_each_records_own_deadline",),
    },
}


@pytest.mark.parametrize("sentence", SENTENCES)
def test_each_sentence_has_its_tests(sentence: str) -> None:
    for path, names in SENTENCES[sentence].items():
        there = {
            node.name for node in ast.walk(ast.parse((ROOT / path).read_text())) if isinstance(node, ast.FunctionDef)
        }
        assert set(names) <= there
