"""SchemaStore: one request a schema; references; failures that are remembered for a while."""

import json

import pytest

from kctl.client.errors import ApiTimeout, ConnectionRefused, WrongPeerError
from kctl.client.http import HttpResponse
from kctl.serdes.errors import SchemaError, SchemaNotFoundError
from kctl.serdes.registry import Reference, Schema
from kctl.serdes.schema_store import MOST_SCHEMAS, RETRY_MS, Resolved
from tests.support.registry.in_memory import RegistryScene


def reference(name: str, subject: str) -> dict[str, object]:
    return {"name": name, "subject": subject, "version": 1}


def test_schema_is_asked_for_once() -> None:
    scene = RegistryScene()
    number = scene.fake.add("s", '"int"')
    store = scene.store()
    assert store.resolve(number) == store.resolve(number)
    assert scene.http.asked == ["GET one /schemas/ids/1"]


def test_schema_with_many_references_has_one_timeout_for_all_of_them() -> None:
    scene = RegistryScene()
    for number in range(100):
        scene.fake.add(f"r{number}", json.dumps({"type": "fixed", "name": f"F{number}", "size": 1}))
    references = [reference(f"F{number}", f"r{number}") for number in range(100)]
    number = scene.fake.add("s", '"int"', references=references)
    scene.http.on_request = lambda: scene.clock.advance(1_000)
    with pytest.raises(ApiTimeout):
        scene.store().resolve(number)
    assert scene.clock.now_ms() == 60_000
    assert len(scene.http.asked) == 60


def test_references_come_before_the_schema_that_needs_them() -> None:
    scene = RegistryScene()
    scene.fake.add("c", '"c"')
    scene.fake.add("b", '"b"', references=[reference("C", "c")])
    top = scene.fake.add("a", '"a"', references=[reference("B", "b"), reference("C", "c")])
    found = scene.store().resolve(top)
    assert [name for name, _ in found.dependencies] == ["C", "B"]


def test_protobuf_is_fetched_in_its_serialized_form() -> None:
    scene = RegistryScene()
    number = scene.fake.add("p", 'syntax = "proto3";', "PROTOBUF")
    scene.fake.serialized[number] = "AAAA"
    assert scene.store().resolve(number) == Resolved(Schema("PROTOBUF", "AAAA"))


def test_references_in_a_circle_are_refused() -> None:
    scene = RegistryScene()
    scene.fake.add("a", '"a"', references=[reference("B", "b")])
    scene.fake.add("b", '"b"', references=[reference("A", "a")])
    with pytest.raises(SchemaError, match="refers to itself"):
        scene.store().with_references(Schema("AVRO", "", (Reference("A", "a", 1),)))


def test_failure_is_not_asked_for_again_before_its_time() -> None:
    scene = RegistryScene()
    store = scene.store()
    scene.http.failures["one"] = ConnectionRefused("connection refused")
    for _ in range(3):
        with pytest.raises(ConnectionRefused):
            store.resolve(1)
    assert len(scene.http.asked) == 1
    del scene.http.failures["one"]
    scene.clock.advance(RETRY_MS)
    with pytest.raises(SchemaNotFoundError):
        store.resolve(1)


def test_references_of_one_name_without_an_end_are_refused() -> None:
    scene = RegistryScene()
    for number in range(MOST_SCHEMAS + 2):
        scene.fake.add(f"s{number}", '"int"', references=[reference("x", f"s{number + 1}")])
    with pytest.raises(SchemaError, match="more than"):
        scene.store().with_references(Schema("AVRO", "", (Reference("x", "s0", 1),)))


def test_registry_that_is_down_is_asked_once_and_not_for_each_schema() -> None:
    scene = RegistryScene()
    store = scene.store()
    scene.http.failures["one"] = ConnectionRefused("connection refused")
    for number in (1, 2, 3):
        with pytest.raises(ConnectionRefused):
            store.resolve(number)
    assert len(scene.http.asked) == 1
    del scene.http.failures["one"]
    scene.clock.advance(RETRY_MS)
    for number in (1, 2, 3):  # these are answers: each is a schema of its own that is not there
        with pytest.raises(SchemaNotFoundError):
            store.resolve(number)
    assert len(scene.http.asked) == 4


def test_response_that_is_no_schema_does_not_stand_for_others() -> None:
    scene = RegistryScene()
    number = scene.fake.add("s", '"int"')
    store = scene.store()
    scene.http.failures["one"] = HttpResponse(200, "", {}, b"[]")
    with pytest.raises(WrongPeerError):
        store.resolve(7)
    del scene.http.failures["one"]
    assert store.resolve(number).schema.text == '"int"'


def test_schemas_in_memory_are_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("kctl.serdes.schema_store.MOST_IN_MEMORY", 2)
    scene = RegistryScene()
    numbers = [scene.fake.add(f"s{number}", f'"{number}"') for number in range(3)]
    store = scene.store()
    for number in (*numbers, *numbers[1:], numbers[0]):
        assert store.resolve(number).schema.type == "AVRO"
    assert len(scene.http.asked) == 4
