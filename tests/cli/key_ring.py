"""A key ring for tests: one password, from a variable. keyring finds it by $PYTHON_KEYRING_BACKEND."""

import os

from keyring.backend import KeyringBackend


class VariableRing(KeyringBackend):
    """Knows alice of the service kafka."""

    priority = 1

    def get_password(self, service: str, username: str) -> str | None:
        return os.environ["RING"] if (service, username) == ("kafka", "alice") else None

    def set_password(self, service: str, username: str, password: str) -> None:
        raise AssertionError("kctl writes to no key ring")
