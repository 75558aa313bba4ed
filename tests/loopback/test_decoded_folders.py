"""Decoded columns in folders and stores over the versions of a schema: readers of Parquet read all files as one."""

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pyarrow.dataset
import pytest

from kctl.client.producer import Producer
from kctl.pipeline.decoding.plan import DecodeRequest, side_request
from kctl.pipeline.export_files.manifests import MANIFESTS, read_manifests
from kctl.pipeline.job_errors import ExportDataError, FolderError
from kctl.pipeline.jobs.export import ExportRequest, export, plan_export
from kctl.pipeline.ranges import Selection
from kctl.sandbox.sandbox import Sandbox
from kctl.serdes.avro import AvroCodec
from kctl.serdes.wire import write_frame
from tests.support.registry.server import FakeRegistry, running
from tests.support.spark_in_process import session_in_process

INT, LONG = {"name": "id", "type": "int"}, {"name": "id", "type": "long"}
NOTE = {"name": "note", "type": "string", "default": "none"}
INNER = {"name": "in", "type": {"type": "record", "name": "I", "fields": [{"name": "a", "type": "int"}]}}
WIDER_INNER = {
    "name": "in",
    "type": {
        "type": "record",
        "name": "I",
        "fields": [{"name": "a", "type": "int"}, {"name": "b", "type": ["null", "string"], "default": None}],
    },
}
Send = Callable[[list[Any], dict[str, Any]], None]


@pytest.fixture
def topic() -> Iterator[tuple[ExportRequest, Send]]:
    """The topic `t`, an export of it, and what sends a record of a new version."""
    registry = FakeRegistry()
    with running(registry), Sandbox(nodes=1, topics={"t": 1}).serve() as served:

        def send(fields: list[Any], value: dict[str, Any]) -> None:
            text = json.dumps({"type": "record", "name": "R", "fields": fields})
            with Producer({"bootstrap.servers": served.bootstrap}) as producer:
                producer.send("t", write_frame(registry.add("t-value", text), AvroCodec(text).encode(value)))

        properties = {"bootstrap.servers": served.bootstrap, "schema.registry.url": registry.url}
        decode = DecodeRequest(None, side_request("value", "avro", None, None), ())
        yield ExportRequest(Selection(topics=("t",)), Path("x"), properties, decode=decode), send


def run(request: ExportRequest) -> int:
    with session_in_process() as session:
        return export(request, session=session).records


def values(folder: Path) -> list[Any]:
    table = pyarrow.dataset.dataset(sorted((folder / "t").glob("*.parquet"), reverse=True)).to_table()
    return [
        row["value"] for row in sorted(table.select(["offset", "value"]).to_pylist(), key=lambda row: row["offset"])
    ]


def test_later_files_have_the_fields_of_earlier_ones(topic: tuple[ExportRequest, Send], tmp_path: Path) -> None:
    request, send = topic
    request = request._replace(folder=tmp_path / "x")
    send([LONG, INNER], {"id": 1, "in": {"a": 1}})
    assert run(request) == 1
    assert "t" in read_manifests(tmp_path / "x")[0].schemas
    send([INT, NOTE, WIDER_INNER], {"id": 2, "note": "n", "in": {"a": 2, "b": "b"}})
    assert run(request) == 1
    send([NOTE], {"note": "m"})  # fields go, others stay
    assert run(request) == 1
    assert values(tmp_path / "x") == [
        {"id": 1, "in": {"a": 1, "b": None}, "note": None},
        {"id": 2, "in": {"a": 2, "b": "b"}, "note": "n"},
        {"id": None, "in": None, "note": "m"},
    ]
    first, second, third = read_manifests(tmp_path / "x")
    assert first.schemas != second.schemas
    assert third.schemas == {}, "only what is new is in a manifest"


@pytest.mark.parametrize(
    ("fields", "value", "words"),
    [
        ([LONG], {"id": 2}, "value.id is int32 and cannot change to int64"),
        ([{"name": "id", "type": "string"}], {"id": "2"}, "value.id is int32, not string"),
    ],
)
def test_type_that_files_cannot_change_is_refused(
    topic: tuple[ExportRequest, Send], tmp_path: Path, fields: list[Any], value: dict[str, Any], words: str
) -> None:
    request, send = topic
    request = request._replace(folder=tmp_path / "x")
    send([INT], {"id": 1})
    run(request)
    send(fields, value)
    for job in (run, plan_export):
        with pytest.raises(FolderError, match=rf"x: topic t has different columns: {words}"):
            job(request)
    assert len(read_manifests(tmp_path / "x")) == 1


def test_damaged_schema_of_a_manifest_is_an_error_of_the_data(
    topic: tuple[ExportRequest, Send], tmp_path: Path
) -> None:
    request, send = topic
    request = request._replace(folder=tmp_path / "x")
    send([INT], {"id": 1})
    run(request)
    send([INT], {"id": 2})
    path = tmp_path / "x" / MANIFESTS / "00000001.json"
    path.write_text(json.dumps({**json.loads(path.read_text()), "schemas": {"t": "AAAA"}}))
    with pytest.raises(ExportDataError, match="the schema of topic t in the manifests of"):
        plan_export(request)


def test_merged_manifests_keep_the_newest_schemas(tmp_path: Path) -> None:
    from kctl.pipeline.export_files.manifests import Manifest, ManifestFile, merged_manifest

    files = [ManifestFile(tmp_path, number, number, 1) for number in (1, 2)]
    contents = [Manifest(number, {}, (), number, schemas={"t": str(number)}) for number in (1, 2)]
    assert merged_manifest(files, contents).schemas == {"t": "2"}
