"""SCRAM credentials of a cluster."""

from collections.abc import Callable, Mapping
from hashlib import blake2b

from kctl.client.security.sasl.scram import HASHES, MIN_ITERATIONS
from kctl.sandbox.sasl import ScramCredential


class ScramUsers:
    """Credentials by mechanism and user, computed from passwords on first use."""

    def __init__(self) -> None:
        self._makers: dict[str, dict[str, Callable[[], ScramCredential]]] = {mechanism: {} for mechanism in HASHES}
        self._made: dict[tuple[str, str], ScramCredential] = {}
        self._iterations: dict[tuple[str, str], int] = {}

    def add_passwords(self, passwords: Mapping[str, str]) -> None:
        for mechanism in HASHES:
            for user, password in passwords.items():
                self._set(mechanism, user, MIN_ITERATIONS, _maker(mechanism, user, password))

    def set(self, mechanism: str, user: str, credential: ScramCredential) -> None:
        self._set(mechanism, user, credential.iterations, lambda: credential)

    def _set(self, mechanism: str, user: str, iterations: int, make: Callable[[], ScramCredential]) -> None:
        self._makers[mechanism][user] = make
        self._made.pop((mechanism, user), None)
        self._iterations[mechanism, user] = iterations

    def delete(self, mechanism: str, user: str) -> None:
        del self._makers[mechanism][user]
        self._made.pop((mechanism, user), None)
        del self._iterations[mechanism, user]

    def find(self, mechanism: str, user: str) -> ScramCredential | None:
        make = self._makers.get(mechanism, {}).get(user)
        if make is None:
            return None
        if (mechanism, user) not in self._made:
            self._made[mechanism, user] = make()
        return self._made[mechanism, user]

    def iterations_of(self, user: str) -> dict[str, int]:
        return {mechanism: self._iterations[mechanism, user] for mechanism in HASHES if user in self._makers[mechanism]}

    def names(self) -> list[str]:
        return sorted({user for users in self._makers.values() for user in users})


def _maker(mechanism: str, user: str, password: str) -> Callable[[], ScramCredential]:
    def make() -> ScramCredential:
        salt = blake2b(f"{mechanism}/{user}".encode(), digest_size=16).digest()
        return ScramCredential.from_password(mechanism, password, salt)

    return make
