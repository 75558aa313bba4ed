"""DecodePlan: schemas to read by, resolved on the driver; no secret in what is sent to tasks."""

import pickle
from collections.abc import Iterator

import pytest

from kctl.pipeline.decoding import plan as decoding_plan
from kctl.pipeline.decoding.plan import DecodeRequest, plan_decoding, side_request, task_store
from kctl.serdes.errors import SchemaError, SchemaNotFoundError
from kctl.serdes.registry import SchemaRegistry
from kctl.serdes.schema_store import SchemaStore
from tests.support.registry.server import FakeRegistry, running

KAFKA = {"bootstrap.servers": "unused:1", "default.api.timeout.ms": "5000", "client.id": "x"}


@pytest.fixture(autouse=True)
def _own_stores(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """A worker keeps the stores of its tasks, with their connections, to its end; a test closes them."""
    stores: dict[object, SchemaStore] = {}
    monkeypatch.setattr(decoding_plan, "_stores", stores)
    yield
    for store in stores.values():
        assert isinstance(store._registry, SchemaRegistry)
        store._registry.close()


def test_latest_version_of_the_topics_subject_is_read_by_and_secrets_stay_references(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    registry = FakeRegistry()
    registry.user_info = "me:canary-5512"
    monkeypatch.setenv("REGISTRY_USER", "me:canary-5512")
    registry.add("orders-value", '"int"')
    registry.add("orders-value", '"long"')
    with running(registry) as fake:
        properties = (
            ("schema.registry.url", fake.url),
            ("schema.registry.basic.auth.user.info", "env:REGISTRY_USER"),
        )
        request = DecodeRequest(None, side_request("value", "auto", None, None), properties)
        assert request.is_for_one_topic
        plan = plan_decoding(request, "orders", KAFKA)
        assert plan.value is not None
        assert plan.value.reader.schema.text == '"long"'
        assert plan.limits == (("default.api.timeout.ms", "5000"),)
        assert b"canary" not in pickle.dumps(plan)
        assert task_store(plan) is task_store(pickle.loads(pickle.dumps(plan)))
        assert task_store(plan).resolve(1).schema.text == '"int"'
        asked = [each for each in fake.requests if "/schemas/ids/" in each]
        assert asked == ["GET /schemas/ids/2", "GET /schemas/ids/1"]


def test_version_and_id_can_be_named_and_types_must_agree() -> None:
    with running(FakeRegistry()) as fake:
        fake.add("s", '"int"')
        fake.add("s", '"long"')
        properties = (("schema.registry.url", fake.url),)

        def text(form: str, schema: str) -> str:
            request = DecodeRequest(None, side_request("value", form, schema, None), properties)
            plan = plan_decoding(request, "t", KAFKA)
            assert plan.value is not None
            return plan.value.reader.schema.text

        assert (text("avro", "s@1"), text("avro", "id:2"), text("auto", "s")) == ('"int"', '"long"', '"long"')
        with pytest.raises(SchemaError, match="the value schema of s has type AVRO, expected PROTOBUF"):
            text("protobuf", "s")
        with pytest.raises(SchemaNotFoundError, match="Subject 't-value' not found"):
            text("auto", "topic")
