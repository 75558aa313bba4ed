"""Which credentials `kctl users delete` deletes."""

from kctl.cli.users import MECHANISMS, _chosen


def test_mechanism_that_a_broker_made_up_is_left_alone() -> None:
    known = {"ann": {"SCRAM-SHA-256": 4096, "mechanism 7": 1}, "bob": {"SCRAM-SHA-512": 4096}}
    assert _chosen(known, MECHANISMS.words) == [("ann", "SCRAM-SHA-256"), ("bob", "SCRAM-SHA-512")]
    assert _chosen(known, ["SCRAM-SHA-512"]) == [("bob", "SCRAM-SHA-512")]
