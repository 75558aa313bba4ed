"""`kctl probe report` on files in S3 and in Google Cloud Storage: one, a folder of places, and what is not there."""

import gzip
import json
from collections.abc import Callable, Iterator
from random import Random

import pytest

from kctl.cli.exit_codes import ExitCode
from tests.cli.processes import Ended, kctl
from tests.support.gcs.front import GoogleFront
from tests.support.s3.server import S3Server
from tests.unit.cli.probe.report.fleets import NodeTruth, Times, probe_lines

ROUNDS = 30


@pytest.fixture(scope="module")
def s3() -> Iterator[S3Server]:
    """Serve files of two places, and one that is no probe file."""
    with S3Server() as server:
        for number, (place, tls_ms) in enumerate((("berlin", 10), ("sydney", 300))):
            truth = NodeTruth("broker:9092", tls=Times(tls_ms))
            lines = "".join(f"{line}\n" for line in probe_lines([truth], Random(number), ROUNDS)).encode()
            for name, content in (("a.jsonl", lines), ("b.jsonl.gz", gzip.compress(lines)), ("notes.txt", b"x")):
                server.client().put_object(Bucket="kafka", Key=f"fleet/{place}/{name}", Body=content)
        yield server


Report = Callable[..., Ended]


@pytest.fixture(scope="module")
def report(s3: S3Server) -> Iterator[Report]:
    """Run `kctl probe report` with what a shell would have exported for both stores."""
    with GoogleFront(s3.port) as google:
        environ = {**s3.environment, **google.environment}
        yield lambda *arguments: kctl("probe", "report", *arguments, "--output", "json", environ=environ)


@pytest.mark.parametrize("store", ["s3", "gs"])
@pytest.mark.parametrize(
    ("url", "files"),
    [
        ("kafka/fleet", {"berlin": 2, "sydney": 2}),
        pytest.param("kafka", {"berlin": 2, "sydney": 2}, marks=pytest.mark.nightly),
        pytest.param("kafka/fleet/sydney/", {"sydney": 2}, marks=pytest.mark.nightly),
        ("kafka/fleet/berlin/b.jsonl.gz", {"berlin": 1}),
    ],
)
def test_report_reads_a_stored_file_or_all_files_of_a_folder(
    report: Report, store: str, url: str, files: dict[str, int]
) -> None:
    ended = report(f"{store}://{url}")
    assert ended.code == ExitCode.OK, ended.stderr
    found = json.loads(ended.stdout)
    assert {each["place"]: each["files"] for each in found["places"]} == files
    assert {each["place"]: each["rounds"] for each in found["places"]} == {
        place: count * ROUNDS for place, count in files.items()
    }
    assert found["bad_samples"] == []


def test_report_names_what_is_not_stored(report: Report) -> None:
    for url, code, words in (
        ("s3://kafka/fleet/none.jsonl", ExitCode.USAGE, "s3://kafka/fleet/none.jsonl: no object or directory"),
        ("gs://kafka/fleet/none.jsonl", ExitCode.USAGE, "gs://kafka/fleet/none.jsonl: no object or directory"),
        ("gs://absent/fleet", ExitCode.UNKNOWN_RESOURCE, "the bucket does not exist"),
        ("s3://absent/fleet", ExitCode.UNKNOWN_RESOURCE, "the bucket does not exist"),
        ("iceberg:a.b.c", ExitCode.USAGE, "is a table"),
        ("s3://user:word@kafka/x", ExitCode.USAGE, "has credentials: set them in the environment"),
    ):
        ended = report(url)
        assert (ended.code, ended.stdout) == (code, b""), ended.stderr
        assert words in " ".join(ended.stderr.split())
        assert "word@" not in ended.stderr


@pytest.mark.parametrize("store", ["s3", "gs"])
def test_report_ends_by_the_api_timeout_while_the_store_is_silent(report: Report, s3: S3Server, store: str) -> None:
    with s3.frozen():
        ended = report(f"{store}://kafka/fleet", "--api-timeout", "2s")
    assert ended.code == ExitCode.API_TIMEOUT, ended.stderr
    assert "no response in time from 127.0.0.1:" in " ".join(ended.stderr.split())
