"""The configs of topics that `kctl explain` knows: all, with real commands."""

import shlex

import pytest

from kctl.cli.command_tree import read_tree
from kctl.cli.explanations.lookup import find_pages
from kctl.cli.explanations.page import Page
from kctl.cli.explanations.topic_configs import TOPIC_CONFIGS, topic_config_page
from kctl.cli.settings import KNOWN
from kctl.client.config import TOPIC_PROPERTIES

COMMANDS = {command.name: command for command in read_tree().walk()}


def test_each_config_of_a_topic_has_a_page() -> None:
    others = {name for name in TOPIC_PROPERTIES if name not in KNOWN}
    assert {*TOPIC_CONFIGS} == {*others, "compression.type"}, "the levels mean the same as those of a producer"
    for name in TOPIC_PROPERTIES:
        page = find_pages(name)[-1]
        assert (page.name, page.kind) == (name, "topic config" if name in TOPIC_CONFIGS else "property")


def test_property_of_producers_and_of_topics_has_both_pages() -> None:
    assert [(page.kind, dict(page.facts)["default"]) for page in find_pages("compression.type")] == [
        ("property", "none"), ("topic config", "producer"),
    ]  # fmt: skip


def test_default_is_shown_as_people_read_it() -> None:
    def default(name: str) -> str:
        return dict(topic_config_page(name).facts)["default"]

    assert default("retention.ms") == "604800000 (7d)"
    assert default("segment.bytes") == "1073741824 (1.1 GB)"
    assert default("flush.ms") == "9223372036854775807 (unlimited)"
    assert default("cleanup.policy") == "delete"
    assert default("retention.bytes") == "-1"


@pytest.mark.parametrize("page", list(map(topic_config_page, TOPIC_CONFIGS)), ids=lambda page: page.name)
def test_each_command_that_a_page_names_exists(page: Page) -> None:
    lines = [line for _, line in page.facts if line.startswith("kctl ")]
    assert lines
    for line in lines:
        words = shlex.split(line)
        name = max((" ".join(words[:n]) for n in range(2, len(words) + 1) if " ".join(words[:n]) in COMMANDS), key=len)
        names = {name for option in COMMANDS[name].options for name in option.names}
        assert {word for word in words if word.startswith("-")} <= names, line
        is_run = not COMMANDS[name].commands or name == "kctl probe"
        assert is_run, f"{line}: which of the subcommands?"
