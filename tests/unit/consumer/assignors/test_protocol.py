"""The bytes between members; the same bytes as Java's in tests/conformance/test_assignors.py."""

import pytest

from kctl.client.consumer.assignors import MemberSubscription
from kctl.client.consumer.assignors.protocol import (
    decode_assignment,
    decode_subscription,
    encode_assignment,
    encode_subscription,
)
from kctl.client.errors import RemoteProtocolError
from tests.unit.consumer.fakes import T0, T1, T2

FULL = MemberSubscription(("t", "u"), (T0, T2), 7, "rack", b"data")


def test_a_subscription_goes_round() -> None:
    assert decode_subscription(encode_subscription(FULL)) == FULL
    assert decode_subscription(encode_subscription(FULL), "i")._replace(group_instance_id=None) == FULL
    assert decode_subscription(encode_subscription(FULL), "i").group_instance_id == "i"


@pytest.mark.parametrize(
    ("version", "expected"),
    [
        (0, MemberSubscription(("t", "u"), user_data=b"data")),
        (1, MemberSubscription(("t", "u"), (T0, T2), user_data=b"data")),
        (2, MemberSubscription(("t", "u"), (T0, T2), 7, user_data=b"data")),
    ],
)
def test_older_versions_say_less(version: int, expected: MemberSubscription) -> None:
    assert decode_subscription(encode_subscription(FULL, version)) == expected


def test_an_assignment_goes_round() -> None:
    for version in range(4):
        assert decode_assignment(encode_assignment([T1, T0], b"data", version)) == [T1, T0]
    assert decode_assignment(b"") == []


def test_newer_versions_are_read_as_the_newest_known() -> None:
    newer = (9).to_bytes(2, "big")
    assert decode_subscription(newer + encode_subscription(FULL)[2:] + b"more") == FULL
    assert decode_assignment(newer + encode_assignment([T0])[2:] + b"more") == [T0]


def test_bytes_that_are_no_message_are_refused() -> None:
    good = encode_subscription(FULL)
    for bad in (b"", b"\0", b"\xff\xff", good[:-1], good + b"\0", b"\0\0\x7f\xff\xff\xff"):
        with pytest.raises(RemoteProtocolError, match="ConsumerProtocolSubscription"):
            decode_subscription(bad)
    for bad in (b"\0", b"\xff\xff", b"\0\0\x7f\xff\xff\xff"):
        with pytest.raises(RemoteProtocolError, match="ConsumerProtocolAssignment"):
            decode_assignment(bad)
