"""One certificate authority for all tests of this folder: making keys takes time."""

import pytest

from tests.unit.security.certificates import Authority


@pytest.fixture(scope="session")
def authority(tmp_path_factory: pytest.TempPathFactory) -> Authority:
    return Authority(tmp_path_factory.mktemp("tls") / "ca", "test-ca")


@pytest.fixture(scope="session")
def broker_pem(authority: Authority) -> str:
    return authority.issue("localhost")
