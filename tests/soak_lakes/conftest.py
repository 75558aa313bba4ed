"""An S3 server and the front of it that is struck, one for each file of tests."""

from collections.abc import Iterator

import pytest

from tests.support.gcs.front import GoogleFront
from tests.support.s3.front import StoreFront
from tests.support.s3.server import S3Server


@pytest.fixture(scope="module")
def store() -> Iterator[S3Server]:
    with S3Server() as server:
        yield server


@pytest.fixture(scope="module")
def front(store: S3Server, tmp_path_factory: pytest.TempPathFactory) -> Iterator[StoreFront]:
    """The front of the store, and what a shell would have exported for it."""
    with (
        StoreFront(store.port) as front,
        GoogleFront(front.port) as google,
        pytest.MonkeyPatch.context() as patched,
    ):
        for name, value in {**store.environment, **google.environment}.items():
            patched.setenv(name, value)
        patched.setenv("AWS_ENDPOINT_URL", front.endpoint)
        patched.setenv("PYICEBERG_CATALOG__LAKE__URI", f"sqlite:///{tmp_path_factory.mktemp('catalog')}/catalog.db")
        patched.setenv("PYICEBERG_CATALOG__LAKE__WAREHOUSE", "s3://kafka/warehouse")
        patched.setenv("PYICEBERG_CATALOG__LAKE__S3__ENDPOINT", front.endpoint)
        yield front
