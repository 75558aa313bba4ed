"""Every declared message and version survives being written as JSON, and no JSON value ends in another exception."""

import json
from random import Random
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kctl.client.protocol.json_form import JsonFormError, from_json, to_json
from kctl.client.protocol.schema import Message, Struct
from tests.fuzz.examples import examples
from tests.fuzz.protocol.messages import every_version, random_message, same

EVERY = pytest.mark.parametrize(
    ("cls", "version"),
    [pytest.param(cls, version, id=f"{cls.__name__}-v{version}") for cls, version in every_version()],
)
SEEDS = st.integers(min_value=0, max_value=2**32)
WRONG: tuple[Any, ...] = (None, True, -(2**70), 2.5, "text", "ä/+", [], [1], {}, {"a": 1}, [[]], [None], [{"name": 5}])


def without_unknown_tags(value: Any) -> Any:
    """Return the message without tagged fields that its declaration does not name: JSON has no form for them."""
    if isinstance(value, Struct):
        value.unknown_tagged_fields.clear()
        for entry in value.FIELDS:
            without_unknown_tags(getattr(value, entry.name))
    elif isinstance(value, list):
        for item in value:
            without_unknown_tags(item)
    return value


def refusal(cls: type[Message], form: object, version: int) -> JsonFormError | None:
    """Return why the form is refused; any other exception fails the test."""
    try:
        from_json(cls, form, version)
    except JsonFormError as error:
        return error
    return None


@EVERY
@settings(max_examples=examples(3), deadline=None, database=None)
@given(seed=SEEDS)
def test_json_form_of_a_message_is_parsed_back(cls: type[Message], version: int, seed: int) -> None:
    message = without_unknown_tags(random_message(Random(seed), cls, version))
    text = json.dumps(to_json(message, version))
    assert same(from_json(cls, json.loads(text), version), message)


@EVERY
@settings(max_examples=examples(3), deadline=None, database=None)
@given(seed=SEEDS)
def test_a_value_of_another_type_is_refused_by_its_place(cls: type[Message], version: int, seed: int) -> None:
    rng = Random(seed)
    form = to_json(without_unknown_tags(random_message(rng, cls, version)), version)
    place: Any = form
    while isinstance(place, dict) and place:
        name = rng.choice(list(place))
        below = place[name]
        if isinstance(below, list) and below and isinstance(below[0], dict) and rng.random() < 0.7:
            place = below[0]
            continue
        place[name] = rng.choice(WRONG)
        break
    error = refusal(cls, form, version)
    assert error is None or ": " in str(error)
