"""Errors of a store in one line: with the server's host and port, without what else its URL has."""

import pytest

from kctl.pipeline.job_errors import StoreTimeoutError, StoreUnreachableError
from kctl.pipeline.object_store.store import store_problem

WHERE = "s3://kafka/x"
TEXT = "Generic S3 error: Error performing GET {} in 503ms, after 3 retries - HTTP error\nkind: {}, source"


URLS = [
    ("http://127.0.0.1:9000/kafka/x/a", "127.0.0.1:9000"),
    ("https://kafka.s3.eu-west-1.amazonaws.com/x", "kafka.s3.eu-west-1.amazonaws.com"),
    ("http://[::1]:9000/kafka", "[::1]:9000"),
    ("http://user:canary@127.0.0.1:9000/kafka", "127.0.0.1:9000"),
    ("https://account.blob.core.windows.net?sig=canary&a=b@c", "account.blob.core.windows.net"),
    ("https://account.blob.core.windows.net#canary", "account.blob.core.windows.net"),
]


@pytest.mark.parametrize(("url", "shown"), URLS)
def test_server_without_connection_or_response_is_named_and_no_secret_of_its_url(url: str, shown: str) -> None:
    problem = store_problem(OSError(TEXT.format(url, "Connect")), WHERE)
    assert isinstance(problem, StoreUnreachableError)
    assert str(problem) == f"{WHERE}: cannot connect to the object store at {shown} (3 retries)"
    problem = store_problem(OSError(TEXT.format(url, "Timeout")), WHERE)
    assert isinstance(problem, StoreTimeoutError)
    assert str(problem) == f"{WHERE}: no response in time from {shown} (3 retries)"


def test_bucket_of_another_region_is_named_with_the_setting() -> None:
    text = (
        "Generic S3 error: Error performing list request: Received redirect without LOCATION, this normally indicates"
    )
    problem = store_problem(OSError(text), WHERE)
    assert (str(problem), problem.hint) == (
        f"{WHERE}: the bucket is in another region",
        "set AWS_REGION to the region of the bucket",
    )


def test_error_without_a_url_names_no_server() -> None:
    assert str(store_problem(OSError("kind: Connect, source"), WHERE)) == f"{WHERE}: cannot connect to the object store"
    assert str(store_problem(OSError("kind: Timeout, source"), WHERE)) == f"{WHERE}: no response in time"


@pytest.mark.parametrize("url", [url for url, _ in URLS])
@pytest.mark.parametrize("end", ["HTTP error: error sending request", "HTTP error: error following redirect", ""])
def test_error_of_any_other_kind_has_no_secret_of_a_url(url: str, end: str) -> None:
    text = str(store_problem(OSError(f"Generic S3 error: Error performing GET {url} in 9ms - {end}"), WHERE))
    assert "canary" not in text
    assert text.startswith(f"{WHERE}: Generic S3 error: Error performing GET http")
    assert text.endswith(f" in 9ms - {end}")
