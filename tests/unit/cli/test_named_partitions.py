"""Partitions named in a command line: forms, repetition, and errors that name the argument."""

import pytest

from kctl.cli import click
from kctl.cli.named_partitions import parse_named


def test_parse_named_joins_repeated_topics_and_all_of_a_topic_wins() -> None:
    assert parse_named(["a:2,0", "b", "a:0-1", "b:3"]) == {"a": [0, 1, 2], "b": None}


@pytest.mark.parametrize("text", ["", ":0", "a:", "a:x", "a:-1", "a:3-1", "x" * 250])
@pytest.mark.parametrize("where", ["TOPIC", "'--topic'"])
def test_parse_named_rejects_other_forms_and_names_what_was_given(text: str, where: str) -> None:
    with pytest.raises(click.BadParameter) as refused:
        parse_named([text], where)
    assert where.strip("'") in refused.value.format_message()
    assert ("--topic" in refused.value.format_message()) is (where != "TOPIC")
