"""SaslSession: when a session is renewed, and when requests wait for that."""

import pytest

from kctl.client.clock import FOREVER_MS
from kctl.client.network.session import LEAST_RENEWAL_MS, SaslSession


def began(lifetime_ms: int) -> SaslSession:
    session = SaslSession()
    session.began(lifetime_ms, 100, lambda: 0.5, 120)
    return session


def test_session_is_renewed_before_it_ends_and_holds_requests_from_then_on() -> None:
    session = began(10_000)
    assert session.renew_at_ms == 9_100
    assert (session.is_due(9_099), session.holds(9_099)) == (False, False)
    assert (session.is_due(9_100), session.holds(9_100)) == (True, True)


@pytest.mark.parametrize("lifetime_ms", [1, 300, 1_000])
def test_session_shorter_than_kafka_renews_holds_requests_until_a_renewal_is_allowed(lifetime_ms: int) -> None:
    session = began(lifetime_ms)
    assert session.renew_at_ms == 120 + LEAST_RENEWAL_MS
    ended_at_ms = 100 + lifetime_ms
    assert session.holds(ended_at_ms)
    assert not session.is_due(ended_at_ms)


def test_session_without_an_end_is_never_renewed() -> None:
    session = began(0)
    assert session.renew_at_ms == FOREVER_MS
    assert not session.holds(FOREVER_MS - 1)
