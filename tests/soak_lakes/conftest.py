"""An S3 server and what of it is struck, one for each file of tests and each server."""

from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from tests.soak_lakes.blows import Struck
from tests.soak_lakes.scene import Case, Scene
from tests.support.gcs.front import GoogleFront
from tests.support.kafka.cluster import KafkaCluster
from tests.support.kafka.requirements import have
from tests.support.s3.front import StoreFront
from tests.support.s3.server import S3Server
from tests.support.s3.versity import VersityServer, installed_versitygw

Stores = tuple[S3Server, Struck]


@pytest.fixture(scope="module")
def stores(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Stores]:
    """A server and what of it is struck, by the name of the parameter; exported as a shell would.

    versitygw is killed itself, and moto, which holds all in memory, has a front that is.
    """
    with ExitStack() as stack:
        patched = stack.enter_context(pytest.MonkeyPatch.context())
        store: S3Server
        struck: StoreFront | VersityServer
        if request.param == "versitygw":
            store = struck = VersityServer(have(installed_versitygw), tmp_path_factory.mktemp("objects"))
            stack.enter_context(store)
        else:
            store = stack.enter_context(S3Server())
            struck = stack.enter_context(StoreFront(store.port))
            google = stack.enter_context(GoogleFront(struck.port))
            for name, value in google.environment.items():
                patched.setenv(name, value)
        for name, value in store.environment.items():
            patched.setenv(name, value)
        patched.setenv("AWS_ENDPOINT_URL", struck.endpoint)
        patched.setenv("PYICEBERG_CATALOG__LAKE__URI", f"sqlite:///{tmp_path_factory.mktemp('catalog')}/catalog.db")
        patched.setenv("PYICEBERG_CATALOG__LAKE__WAREHOUSE", "s3://kafka/warehouse")
        patched.setenv("PYICEBERG_CATALOG__LAKE__S3__ENDPOINT", struck.endpoint)
        yield store, struck


@pytest.fixture
def scene(
    stores: Stores, case: Case, kafka_newest: KafkaCluster, tmp_path: Path, request: pytest.FixtureRequest
) -> Scene:
    """A new topic and a new target of the case."""
    return Scene(case, kafka_newest, stores, request.module.RECORDS, tmp_path, request)
