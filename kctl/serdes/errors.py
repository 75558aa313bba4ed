"""Errors of schemas, registries, and values. Their exit codes are in kctl/cli/failures.py."""

from kctl.client.errors import ErrorKind, KafkaError


class SerdesError(KafkaError):
    """A value, schema, or registry is not usable; `hint` suggests a fix."""

    kind = ErrorKind.DATA

    def __init__(self, message: str, *, hint: str = "") -> None:
        super().__init__(message)
        self.hint = hint


class DecodeError(SerdesError):
    """Bytes do not fit their schema."""


class RecordDecodeError(DecodeError):
    """A key or value of a record cannot be decoded.

    Attributes:
        topic, partition, offset: position of the record.
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
    """A schema is invalid, oversized, or of an unknown type."""


class LibraryMissingError(SerdesError):
    """The library of a format is not installed."""

    kind = ErrorKind.USAGE


class RegistryError(SerdesError):
    """The registry returned an error: the HTTP `status`, and the registry's `code` or 0."""

    kind = ErrorKind.UNEXPECTED

    def __init__(self, message: str, *, status: int, code: int = 0, hint: str = "") -> None:
        super().__init__(message, hint=hint)
        self.status = status
        self.code = code


class SchemaNotFoundError(RegistryError):
    """The registry does not know the subject, version or schema."""

    kind = ErrorKind.UNKNOWN_RESOURCE


class RegistryLoginError(RegistryError):
    """The registry requires credentials, or rejects them (401)."""

    kind = ErrorKind.AUTHENTICATION


class RegistryDeniedError(RegistryError):
    """The registry denies the request (403)."""

    kind = ErrorKind.AUTHORIZATION


class IncompatibleSchemaError(RegistryError):
    """A schema is not compatible with previous versions and cannot be registered (409)."""

    kind = ErrorKind.DATA


def is_of_data(error: KafkaError) -> bool:
    """Return whether the data or its schema causes an error, and not, for example, the registry."""
    if isinstance(error, RegistryError):
        return isinstance(error, SchemaNotFoundError)
    return isinstance(error, SerdesError) and not isinstance(error, LibraryMissingError)
