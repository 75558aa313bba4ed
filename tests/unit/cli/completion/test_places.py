"""What can stand where: every name that is looked up has a place, and no option is ambiguous."""

import pytest

from kctl.cli.completion.places import (
    FILES,
    GROUPS,
    NOTHING,
    TOPICS,
    CommandSpec,
    offer_of,
    options_with_values,
    read_places,
    short,
)
from kctl.pipeline.bad_record_policies import POLICIES
from kctl.sandbox.faults import Fault

PLACES = {place.path: place for place in read_places()}


def test_arguments() -> None:
    assert PLACES["consume"].arguments == (TOPICS,)
    assert PLACES["produce"].arguments == (TOPICS, FILES)
    assert PLACES["groups lag"].arguments == (GROUPS,)
    assert PLACES["topics describe"].arguments == (TOPICS,), "[TOPIC]..."
    assert PLACES["partitions plan"].arguments == (TOPICS,), "[TOPIC[:P,P-P]]..."
    assert PLACES["apply"].arguments == (FILES,)
    assert PLACES["explain"].arguments[0].list == "subjects"
    assert PLACES["topics create"].arguments == (NOTHING,), "what is made has no name yet"
    assert [name for name, _ in PLACES["bench"].commands] == ["produce", "consume", "end-to-end"]


def test_option_values_are_completed_by_their_kind() -> None:
    offers = {name: offer_of(option) for option in PLACES["consume"].options for name in option.names}
    assert offers["-g"] == GROUPS
    assert offers["--command-config"] == FILES
    assert offers["--output"].words == ("jsonl", "csv", "raw", "hex", "base64")
    assert offers["--isolation-level"].words == ("read_uncommitted", "read_committed")
    assert offers["-X"].list == "properties"


def test_options_with_values_are_known_and_named_with_the_command_where_others_have_a_flag() -> None:
    takes = options_with_values(list(PLACES.values()))
    assert {"--offset", "-o", "-X", "groups.reset-offsets:--export"} <= set(takes)
    assert not {"--export", "profile.show:--export", "--diff"} & set(takes)
    assert not {"--follow", "-q", "--help"} & set(takes)
    assert "--version" in takes  # of an API; that of kctl itself ends it
    option = PLACES["consume"].options[0]
    flag = option._replace(metavar="", type="flag")
    places = [CommandSpec("a b", (), (option,), ()), CommandSpec("c", (), (flag,), ())]
    assert "a.b:--offset" in options_with_values(places)


@pytest.mark.parametrize(
    ("text", "first"),
    [
        ("Total timeout of a call (60s).", "Total timeout of a call (60s)"),
        ("Where to start and end: start, 42.", "Where to start and end"),
        ("Only these: 0, 0,2 or 2-4; repeatable.", "Only these: 0, 0,2 or 2-4"),
    ],
)
def test_the_first_thing_of_a_help(text: str, first: str) -> None:
    assert short(text) == first


def test_policies_and_faults_are_completed() -> None:
    for path, words in (("consume", ("error", "skip")), ("pipeline export", POLICIES), ("pipeline sync", POLICIES)):
        [option] = [each for each in PLACES[path].options if "--on-bad-record" in each.names]
        assert offer_of(option).words == words
    command, broker, fault, _ = PLACES["sandbox fault"].arguments
    assert {"start", "stop"} < set(command.words)
    assert broker == NOTHING
    assert fault.words == tuple(each.value for each in Fault)
