"""Which credentials `kctl users delete` deletes."""

import pytest

from kctl.cli.failures import CommandError
from kctl.cli.users import MECHANISMS, _removals
from kctl.client.admin import ScramRemoval


def test_mechanism_that_a_broker_made_up_is_left_alone() -> None:
    known = {"ann": {"SCRAM-SHA-256": 4096, "mechanism 7": 1}, "bob": {"SCRAM-SHA-512": 4096}}
    both = [ScramRemoval("ann", "SCRAM-SHA-256"), ScramRemoval("bob", "SCRAM-SHA-512")]
    assert _removals(known, MECHANISMS.words) == both
    assert _removals(known, ["SCRAM-SHA-512"]) == both[1:]


def test_nothing_to_delete_is_an_error() -> None:
    with pytest.raises(CommandError, match="no SCRAM-SHA-512 credentials found"):
        _removals({"ann": {"SCRAM-SHA-256": 4096}}, ["SCRAM-SHA-512"])
