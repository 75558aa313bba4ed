"""Legal topic names."""

import pytest

from kctl.client.topic_names import is_topic_name


@pytest.mark.parametrize("name", ["a", "A.b_c-0", "__consumer_offsets", "...", "x" * 249])
def test_legal_topic_names_are_accepted(name: str) -> None:
    assert is_topic_name(name)


@pytest.mark.parametrize("name", ["", ".", "..", "a/b", "/a", "../a", "a b", "a\n", "a\0", "ü", "x" * 250, "a\\b"])
def test_illegal_topic_names_are_refused(name: str) -> None:
    assert not is_topic_name(name)
