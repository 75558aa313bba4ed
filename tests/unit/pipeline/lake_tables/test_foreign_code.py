"""Code that a catalog or a table specifies: kctl imports it only if the user's configuration specifies it."""

import json
import os
import sys
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from typing import Any

import pyiceberg.catalog
import pytest
from pyiceberg.table.locations import load_location_provider
from pyiceberg.utils.config import Config

from kctl.pipeline.job_errors import StoreError
from kctl.pipeline.lake_tables.foreign_code import ForeignCodeError, refuse_working_directory
from kctl.pipeline.lake_tables.iceberg import IcebergTarget
from kctl.pipeline.locations import IcebergTable
from kctl.pipeline.object_store.store import StoreTimeouts

pytestmark = pytest.mark.filterwarnings("ignore::ResourceWarning", "ignore::pytest.PytestUnraisableExceptionWarning")

CODE = "kctl_foreign.called"
METADATA: dict[str, Any] = {
    "format-version": 2,
    "table-uuid": "9c12d441-03fe-4693-9a96-a0705ddf69c1",
    "location": "s3://b/t",
    "last-sequence-number": 0,
    "last-updated-ms": 1,
    "last-column-id": 1,
    "current-schema-id": 0,
    "schemas": [
        {"type": "struct", "schema-id": 0, "fields": [{"id": 1, "name": "x", "required": False, "type": "string"}]}
    ],
    "default-spec-id": 0,
    "partition-specs": [{"spec-id": 0, "fields": []}],
    "last-partition-id": 999,
    "default-sort-order-id": 0,
    "sort-orders": [{"order-id": 0, "fields": []}],
    "properties": {},
    "snapshots": [],
}


class Catalog:
    """A REST catalog with one table, whose responses have these properties."""

    def __init__(self) -> None:
        self.config: dict[str, Any] = {}
        self.response: dict[str, Any] = {"metadata-location": "s3://b/t/m.json", "metadata": METADATA}

    def set(self, place: str, name: str, value: object) -> None:
        if place in ("defaults", "overrides"):
            self.config[place] = {name: value}
        elif place == "config":
            self.response["config"] = {name: value}
        elif place == "storage-credentials":
            self.response[place] = [{"prefix": "s3://b", "config": {name: value}}]
        else:
            self.response["metadata"] = {**METADATA, "properties": {name: value}}


@pytest.fixture
def catalog(monkeypatch: pytest.MonkeyPatch) -> Iterator[Catalog]:
    catalog = Catalog()

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            content = json.dumps(catalog.config if "/config" in self.path else catalog.response).encode()
            self.send_response(200)
            self.send_header("Content-Length", str(len(content)))
            self.end_headers()
            self.wfile.write(content)

        def log_message(self, format: str, *args: object) -> None:
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        thread = Thread(target=server.serve_forever, args=(0.01,))
        thread.start()
        monkeypatch.setenv("PYICEBERG_CATALOG__LAKE__URI", f"http://127.0.0.1:{server.server_address[1]}")
        yield catalog
        server.shutdown()
        thread.join()


@pytest.fixture
def calls(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """Return the file that the code of the catalog or the table writes."""
    found = tmp_path / "calls"
    body = f"def called(*args, **rest):\n    open({str(found)!r}, 'a').write('called\\n')\n"
    (tmp_path / "kctl_foreign.py").write_text(body)
    monkeypatch.syspath_prepend(tmp_path)
    yield found
    sys.modules.pop("kctl_foreign", None)


def opened(monkeypatch: pytest.MonkeyPatch) -> IcebergTarget:
    monkeypatch.setattr(pyiceberg.catalog, "_ENV_CONFIG", Config())
    return IcebergTarget(IcebergTable("lake.db.orders"), StoreTimeouts())


@pytest.mark.parametrize("place", ["defaults", "overrides", "config", "storage-credentials", "properties"])
def test_file_io_that_a_catalog_names_is_not_called(
    catalog: Catalog, calls: Path, monkeypatch: pytest.MonkeyPatch, place: str
) -> None:
    catalog.set(place, "py-io-impl", CODE)
    with pytest.raises(
        StoreError, match=r"^iceberg:lake\.db\.orders: the catalog or the table sets py-io-impl to 'kctl_f"
    ):
        opened(monkeypatch).positions()
    assert not calls.exists()
    assert "kctl_foreign" not in sys.modules


@pytest.mark.parametrize("kind", [{"type": "custom", "impl": CODE}, {"type": CODE}, {"type": "google"}])
def test_login_that_a_catalog_names_is_not_called(
    catalog: Catalog, calls: Path, monkeypatch: pytest.MonkeyPatch, kind: dict[str, str]
) -> None:
    catalog.set("overrides", "auth", kind)
    with pytest.raises(StoreError, match="the catalog or the table sets auth to '"):
        opened(monkeypatch)
    assert not calls.exists()


@pytest.mark.parametrize("code", [CODE, [CODE], {"a": CODE}])
def test_retry_strategy_that_a_table_names_is_not_called(
    catalog: Catalog, calls: Path, monkeypatch: pytest.MonkeyPatch, code: object
) -> None:
    catalog.set("config", "s3.retry-strategy-impl", code)
    target = opened(monkeypatch)
    table = target._loaded()
    assert table is not None
    with pytest.raises(StoreError, match=r"sets s3\.retry-strategy-impl to "), target._named():
        table.io.new_input("s3://b/t/x")
    assert not calls.exists()


def test_location_provider_that_a_table_names_is_not_called(
    catalog: Catalog, calls: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    catalog.set("properties", "write.py-location-provider.impl", CODE)
    target = opened(monkeypatch)
    with (
        pytest.raises(StoreError, match=r"sets write\.py-location-provider\.impl to 'kctl_foreign\.called'"),
        target._named(),
    ):
        load_location_provider("s3://b/t", dict(target.properties()))
    assert not calls.exists()


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("io-impl", "org.apache.iceberg.aws.s3.S3FileIO"),
        ("write.location-provider.impl", "com.example.Provider"),
        ("py-io-impl", "pyiceberg.io.pyarrow.PyArrowFileIO"),
    ],
)
def test_table_that_names_code_of_java_or_pyiceberg_is_read(
    catalog: Catalog, monkeypatch: pytest.MonkeyPatch, name: str, value: str
) -> None:
    catalog.set("properties", name, value)
    assert opened(monkeypatch).positions() == (0, {})


def test_file_io_that_the_user_configured_is_called(
    catalog: Catalog, calls: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PYICEBERG_CATALOG__LAKE__PY_IO_IMPL", CODE)
    with pytest.raises(StoreError, match="Could not initialize FileIO"):
        opened(monkeypatch).positions()
    assert calls.read_text() == "called\n"


@pytest.mark.parametrize("trusted", ["HOME", "PYICEBERG_HOME", ""])
def test_configuration_in_the_working_directory_is_refused_unless_another_is_read_first(
    trusted: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("home", "given", "here"):
        (tmp_path / name).mkdir()
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    monkeypatch.setenv("PYICEBERG_HOME", str(tmp_path / "given"))
    monkeypatch.chdir(tmp_path / "here")
    text = "catalog:\n  lake:\n    uri: http://127.0.0.1:1\n"
    Path(".pyiceberg.yaml").write_text(text)
    if trusted:
        (Path(os.environ[trusted]) / ".pyiceberg.yaml").write_text(text.replace("lake", "other"))
        refuse_working_directory()
        assert Config().get_known_catalogs() == ["other"]
    else:
        assert Config().get_known_catalogs() == ["lake"], "pyiceberg would read it"
        with pytest.raises(ForeignCodeError, match="working directory"):
            refuse_working_directory()
