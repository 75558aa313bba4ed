"""Errors of schemas, registries and values. Each has an exit code in kctl/cli/failures.py."""

from kctl.client.errors import ErrorKind, KafkaError


class SerdesError(KafkaError):
    """A value, a schema or a registry is not usable; `hint` is one thing to try."""

    kind = ErrorKind.DATA

    def __init__(self, message: str, *, hint: str = "") -> None:
        super().__init__(message)
        self.hint = hint


class DecodeError(SerdesError):
    """Bytes are not what their schema says."""


class RecordDecodeError(DecodeError):
    """A key or value of a record that cannot be decoded.

    Attributes:
        topic, partition, offset: of the record.
        side: `key` or `value`.
        raw: the bytes.
    """

    def __init__(self, message: str, *, topic: str, partition: int, offset: int, side: str, raw: bytes) -> None:
        super().__init__(message)
        self.topic = topic
        self.partition = partition
        self.offset = offset
        self.side = side
        self.raw = raw


class EncodeError(SerdesError):
    """A value does not fit its schema."""


class SchemaError(SerdesError):
    """A schema is invalid, too large, or of a type that is not known."""


class LibraryMissingError(SerdesError):
    """The library of a format is not installed."""

    kind = ErrorKind.USAGE


class RegistryError(SerdesError):
    """The registry answered with an error: `status` of HTTP, and its own `code`, 0 where it has none."""

    kind = ErrorKind.UNEXPECTED

    def __init__(self, message: str, *, status: int, code: int = 0, hint: str = "") -> None:
        super().__init__(message, hint=hint)
        self.status = status
        self.code = code


class SchemaNotFoundError(RegistryError):
    """The registry does not know the subject, version or schema."""

    kind = ErrorKind.UNKNOWN_RESOURCE


class RegistryLoginError(RegistryError):
    """The registry wants credentials, or other ones (401)."""

    kind = ErrorKind.AUTHENTICATION


class RegistryDeniedError(RegistryError):
    """The registry does not allow that (403)."""

    kind = ErrorKind.AUTHORIZATION


class IncompatibleSchemaError(RegistryError):
    """A schema cannot be registered: it is not compatible with the versions before it (409)."""

    kind = ErrorKind.DATA


def is_of_data(error: KafkaError) -> bool:
    """Return whether an error is about the data or about the schema that the data names.

    Other errors, such as a registry that does not respond, concern data that is not bad.
    """
    if isinstance(error, RegistryError):
        return isinstance(error, SchemaNotFoundError)
    return isinstance(error, SerdesError) and not isinstance(error, LibraryMissingError)
