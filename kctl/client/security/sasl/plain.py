"""PLAIN (RFC 4616): user name and password in one message."""

from kctl.client.errors import AuthenticationError, ConfigError
from kctl.client.masking import without_secrets

PASSWORD_HINT = "check user name, password, and mechanism"


class PlainClient:
    name = "PLAIN"

    def __init__(self, username: str, password: str) -> None:
        """Raises: ConfigError: name or password contains NUL, which separates them."""
        if "\0" in username or "\0" in password:
            raise ConfigError(
                "sasl.jaas.config: user name and password for PLAIN must not contain NUL", key="sasl.jaas.config"
            )
        self._password = password
        self._message = b"\0" + username.encode() + b"\0" + password.encode()
        self.complete = False

    def first(self) -> bytes:
        return self._message

    def step(self, challenge: bytes) -> bytes | None:
        if self.complete or challenge:
            raise AuthenticationError("PLAIN: the broker sent more messages than PLAIN allows")
        self.complete = True
        return None

    def masked(self, text: str) -> str:
        return without_secrets(text, (self._password,))

    def refusal(self, words: str) -> tuple[str, str]:
        return self.masked(words), PASSWORD_HINT
