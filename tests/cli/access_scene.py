"""A cluster that takes ACLs, on which everybody who is not authenticated is a super user."""

from collections.abc import Iterator

import pytest

from kctl.sandbox import ClusterSettings, Sandbox

SETTINGS = ClusterSettings(authorizer=True, super_users=("User:ANONYMOUS",))


@pytest.fixture
def access() -> Iterator[str]:
    """The bootstrap servers of a fresh cluster."""
    with Sandbox(nodes=1, topics={"orders": 1}, settings=SETTINGS).serve() as served:
        yield served.bootstrap
