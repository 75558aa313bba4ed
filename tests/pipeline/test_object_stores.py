"""Exports in an object store: each record once by a foreign reader, whatever is killed; import and verify from there.

The store is moto's S3 on loopback, the foreign reader pyarrow's own file system and its dataset over the prefix.
"""

import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path

import pyarrow.dataset
import pytest

from kctl.grammar.properties import write_properties
from kctl.pipeline.export_files.manifests import MANIFESTS
from kctl.pipeline.job_errors import (
    StoreDeniedError,
    StoreLoginError,
    StoreMissingError,
    StoreTimeoutError,
    StoreUnreachableError,
)
from kctl.pipeline.jobs.export import ExportRequest, export, plan_export
from kctl.pipeline.jobs.file_import import ImportRequest, import_files
from kctl.pipeline.jobs.verify import VerifyRequest, verify
from kctl.pipeline.locations import StoreUrl
from kctl.pipeline.ranges import Selection
from kctl.pipeline.session import Session
from tests.pipeline.conftest import LocalSpark
from tests.pipeline.exports import data_of, in_export, on_topic
from tests.pipeline.processes import JobProcess
from tests.pipeline.stored_exports import RECORDS, filled_topic, seen_by_others
from tests.pipeline.test_export_decode import BROKEN, EACH, USER_INFO, request_for
from tests.pipeline.test_export_decode import produce as produce_versions
from tests.support.kafka.cluster import KafkaCluster
from tests.support.registry.server import FakeRegistry, running
from tests.support.s3.server import SECRET_KEY, S3Server

# PySpark leaves sockets to the garbage collector.
pytestmark = pytest.mark.filterwarnings("ignore::ResourceWarning", "ignore::pytest.PytestUnraisableExceptionWarning")

RANGE_BYTES = 50_000
"""12 ranges: with six of them in a round two rounds."""


@pytest.fixture(scope="module", autouse=True)
def _credentials(s3: S3Server, local_spark: LocalSpark) -> Iterator[None]:
    """What a shell would have exported; tasks of a Spark that starts with it inherit it."""
    local_spark.close()
    with pytest.MonkeyPatch.context() as patched:
        for name, value in s3.environment.items():
            patched.setenv(name, value)
        yield


@contextmanager
def answering(status: int, body: str) -> Iterator[str]:
    """A server that gives every request one answer; yields its URL."""

    class Handler(BaseHTTPRequestHandler):
        def handle_any(self) -> None:
            self.send_response(status)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body.encode())

        do_GET = do_PUT = do_HEAD = do_POST = handle_any

        def log_message(self, format: str, *args: object) -> None:
            """Say nothing."""

    server = HTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}"
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


@pytest.fixture(scope="module")
def topic(kafka_newest: KafkaCluster) -> str:
    return filled_topic(kafka_newest)


@pytest.fixture
def drive(kafka_newest: KafkaCluster, topic: str, tmp_path: Path) -> Iterator[Callable[..., JobProcess]]:
    """`kctl pipeline export` as processes, each with a name for its scratch folder."""
    config = tmp_path / "client.properties"
    config.write_text(write_properties(kafka_newest.client_properties("SASL_PLAINTEXT", "PLAIN")))
    jobs: list[JobProcess] = []

    def start(name: str, url: str, *more: str) -> JobProcess:
        arguments = ("export", topic, "--to", url, "--command-config", str(config))
        at_once = ("--master", "local[1]", "--range-size", f"{RANGE_BYTES}B")
        jobs.append(JobProcess(tmp_path / name, *arguments, *at_once, *more, takes_small_steps=True))
        return jobs[-1]

    yield start
    for job in jobs:
        job.close()


def test_export_is_read_by_others_verified_and_imported(
    kafka_newest: KafkaCluster, topic: str, session: Session, s3: S3Server
) -> None:
    url = StoreUrl("s3://kafka/whole")
    properties = {"bootstrap.servers": kafka_newest.bootstrap()}
    request = ExportRequest(Selection(topics=(topic,)), url, properties, range_bytes=RANGE_BYTES, layout="date")
    assert export(request, session=session).records == RECORDS
    expected = on_topic(kafka_newest.client_properties(), topic)
    assert seen_by_others(s3.files(), f"kafka/whole/{topic}") == expected == in_export(url)
    assert plan_export(request).ranges == ()
    assert verify(VerifyRequest(topic, properties, folder=url), session=session).is_equal

    copy = kafka_newest.create_topic(partitions=2)
    back = ImportRequest(url, properties, topic=copy, keep_partitions=True, keep_timestamps=True)
    assert import_files(back, session=session).records == RECORDS
    assert list(map(data_of, on_topic(kafka_newest.client_properties(), copy))) == list(map(data_of, expected))
    assert import_files(back, session=session).records == 0


def test_decoded_columns_and_errors_are_in_the_store_and_no_credential_is(
    kafka_newest: KafkaCluster, session: Session, s3: S3Server, tmp_path: Path
) -> None:
    topic, registry, secret = kafka_newest.create_topic(partitions=2), FakeRegistry(), tmp_path / "user"
    registry.user_info = USER_INFO
    secret.write_text(USER_INFO)
    with running(registry):
        produce_versions(kafka_newest, registry, topic)
        request = request_for(kafka_newest, registry, StoreUrl("s3://kafka/decoded"), topic, f"file:{secret}")
        result = export(request, session=session)
        assert (result.records, result.bad_records) == (3 * EACH, len(BROKEN))
        assert export(request, session=session).records == 0
    files = s3.files()
    values = pyarrow.dataset.dataset(f"kafka/decoded/{topic}", filesystem=files).to_table().column("value").to_pylist()
    assert sorted(value["id"] for value in values) == [n for n in range(3 * EACH) if n not in BROKEN]
    assert {value["note"] for value in values if value["id"] < EACH} == {None}
    errors = pyarrow.dataset.dataset(f"kafka/decoded/_errors/{topic}", filesystem=files).to_table().to_pylist()
    assert sorted((row["key"], row["value"]) for row in errors) == [
        (b"k%d" % n, data) for n, data in sorted(BROKEN.items())
    ]
    contents = [files.open_input_file(f"kafka/decoded/{key}").readall() for key in s3.keys("decoded")]
    assert any(b"value=avro" in content for content in contents)
    assert all(b"canary" not in content for content in contents)


def test_driver_that_is_killed_again_and_again(
    kafka_newest: KafkaCluster, topic: str, drive: Callable[..., JobProcess], s3: S3Server
) -> None:
    """Once with objects that no manifest has, once right after a manifest; others see finished rounds alone."""
    first = drive("jobs", "s3://kafka/killed")
    first.wait_for(lambda: len(s3.keys("killed")) > 2, "objects of the first round")
    first.signal(signal.SIGKILL)
    first.ended()
    first.wait_for_children()
    assert all(key.rpartition("/")[2].startswith(".") for key in s3.keys("killed")), "visible and in no manifest"

    second = drive("jobs", "s3://kafka/killed")
    second.wait_for(lambda: any(key.startswith(MANIFESTS) for key in s3.keys("killed")), "the first manifest")
    second.signal(signal.SIGKILL)
    second.ended()

    last = drive("jobs", "s3://kafka/killed", "--output", "json")
    code, out = last.ended()
    assert code == 0, last.said()
    assert f'"records": {RECORDS}' not in out, "it began from the beginning"
    expected = on_topic(kafka_newest.client_properties(), topic)
    assert seen_by_others(s3.files(), f"kafka/killed/{topic}") == expected == in_export(StoreUrl("s3://kafka/killed"))
    assert not any(
        SECRET_KEY in path.read_text(errors="replace") for path in last.temporary.rglob("*") if path.is_file()
    )
    assert SECRET_KEY not in first.said() + second.said() + last.said()


def request_to(kafka: KafkaCluster, topic: str, url: str) -> ExportRequest:
    properties = {
        "bootstrap.servers": kafka.bootstrap(),
        "default.api.timeout.ms": "3000",
        "request.timeout.ms": "1500",
    }
    return ExportRequest(Selection(topics=(topic,)), StoreUrl(url), properties, range_bytes=RANGE_BYTES)


def test_bucket_that_does_not_exist_is_named(kafka_newest: KafkaCluster, topic: str) -> None:
    with pytest.raises(StoreMissingError, match=r"^s3://gone/x.*: the bucket does not exist$"):
        plan_export(request_to(kafka_newest, topic, "s3://gone/x"))


def test_store_that_does_not_respond_is_named_within_the_timeout(
    kafka_newest: KafkaCluster, topic: str, s3: S3Server
) -> None:
    with (
        s3.frozen(),
        pytest.raises(StoreTimeoutError, match=rf"s3://kafka/frozen.*: no response in time from 127.0.0.1:{s3.port}"),
    ):
        plan_export(request_to(kafka_newest, topic, "s3://kafka/frozen"))


def test_store_that_refuses_connections_is_named(
    kafka_newest: KafkaCluster, topic: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("AWS_ENDPOINT_URL", "http://127.0.0.1:1")
    with pytest.raises(
        StoreUnreachableError, match=r"s3://kafka/refused.*: cannot connect to the object store at 127.0.0.1:1 "
    ):
        plan_export(request_to(kafka_newest, topic, "s3://kafka/refused"))


@pytest.mark.parametrize(
    ("status", "body", "error", "problem"),
    [
        (503, "<Error><Code>SlowDown</Code></Error>", StoreUnreachableError, "the object store responded 503 Service"),
        (403, "<Error><Code>AccessDenied</Code></Error>", StoreDeniedError, "the object store denied access"),
        (
            403,
            "<Error><Code>InvalidAccessKeyId</Code></Error>",
            StoreLoginError,
            "the object store rejected the credentials",
        ),
    ],
)
def test_store_that_refuses_is_named_within_the_timeout(
    kafka_newest: KafkaCluster,
    topic: str,
    status: int,
    body: str,
    error: type[Exception],
    problem: str,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    with answering(status, body) as url:
        monkeypatch.setenv("AWS_ENDPOINT_URL", url)
        with pytest.raises(error, match=rf"^s3://kafka/x\S*: {problem}") as caught:
            plan_export(request_to(kafka_newest, topic, "s3://kafka/x"))
    assert SECRET_KEY not in str(caught.value)
