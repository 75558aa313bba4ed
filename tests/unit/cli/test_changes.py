"""What commands that change a cluster share: KEY=VALUE."""

import pytest

from kctl.cli.changes import read_pairs
from kctl.cli.click import BadParameter


def test_pairs_keep_what_follows_the_first_equals_sign() -> None:
    assert read_pairs(["a=1", "b=x=y", "c="], "'KEY=VALUE'") == {"a": "1", "b": "x=y", "c": ""}


@pytest.mark.parametrize("texts", [["a"], ["=1"], [""], ["a=1", "a=2"]])
def test_wrong_pair_is_named(texts: list[str]) -> None:
    with pytest.raises(BadParameter):
        read_pairs(texts, "'KEY=VALUE'")
