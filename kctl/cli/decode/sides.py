"""Decoders for the keys or values of printed records, which count failures."""

from collections.abc import Callable
from uuid import UUID

from kctl.cli.failures import explain
from kctl.client.errors import KafkaError
from kctl.client.records import Condition, FieldError
from kctl.serdes.decoder import Decoded, Decoder
from kctl.serdes.errors import SerdesError
from kctl.serdes.json_text import show_json

Warn = Callable[[str], None]


class Side:
    """Decoder of all keys or of all values.

    Args:
        name: `key` or `value`.
        header: name of the header that may contain the schema ID.
        is_ascii: escape non-ASCII characters.
        is_strict: raise a FieldError for each failure.
        warn: prints the first failure of each cause.
    """

    def __init__(
        self, name: str, header: str, decoder: Decoder, warn: Warn, *, is_ascii: bool, is_strict: bool
    ) -> None:
        self.failed = 0
        self._name = name
        self._header = header
        self._decoder = decoder
        self._warn = warn
        self._is_ascii = is_ascii
        self._is_strict = is_strict
        self._headers: list[tuple[str, bytes | None]] = []
        self._data: bytes | None = None
        self._decoded: Decoded | None = None
        self._warned: set[str] = set()

    def conditions(self) -> list[Condition]:
        """Return conditions that always hold, and pass the start and schema header of each record to this decoder."""

        def begin(_topic: bytes) -> None:
            self._headers.clear()
            self._data = None

        def remember(value: bytes) -> None:
            self._headers.append((self._header, value))

        # A negated search that finds nothing holds for every record.
        return [Condition("topic", begin, True), Condition("named_header", remember, True, self._header)]

    def json(self, data: bytes) -> bytes | None:
        decoded = self._decode(data)
        if decoded is None:
            return None
        try:
            return self._shown(decoded)
        except SerdesError as e:
            self._decoded = None
            self._fail(e)
            return None

    def peek(self, data: bytes) -> bytes | None:
        try:
            decoded = self._decoder.decode(data, self._headers)
            return None if decoded is None else self._shown(decoded)
        except KafkaError:
            return None

    def schema(self, data: bytes) -> bytes:
        """Return the schema as JSON, such as `{"id":7,"type":"AVRO"}`. The ID may be a GUID. Without a schema, return
        null.
        """
        decoded = self._decode(data)
        if decoded is None or decoded.schema is None:
            return b"null"
        found = {"guid": str(decoded.schema)} if isinstance(decoded.schema, UUID) else {"id": decoded.schema}
        return show_json({**found, "type": decoded.type}).encode()

    def schema_id(self, data: bytes) -> bytes:
        decoded = self._decode(data)
        return b"" if decoded is None or decoded.schema is None else str(decoded.schema).encode()

    def _shown(self, decoded: Decoded) -> bytes:
        return show_json(decoded.value, is_ascii=self._is_ascii).encode()

    def _decode(self, data: bytes) -> Decoded | None:
        if self._data is not data and self._data != data:
            self._decoded = self._read(data)
            self._data = data
        return self._decoded

    def _read(self, data: bytes) -> Decoded | None:
        try:
            return self._decoder.decode(data, self._headers)
        except KafkaError as e:
            self._fail(e)
            return None

    def _fail(self, error: KafkaError) -> None:
        cause = explain(error).message
        if self._is_strict:
            raise FieldError(f"cannot decode a {self._name}: {cause}") from error
        self.failed += 1
        if cause not in self._warned and len(self._warned) < 5:
            self._warned.add(cause)
            self._warn(f"cannot decode a {self._name}, printing it raw: {cause}")
