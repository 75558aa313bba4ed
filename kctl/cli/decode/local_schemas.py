"""Schema files of --avsc and --protoset."""

from io import BufferedIOBase

from kctl.cli.decode.options import LocalSchemas
from kctl.cli.exit_codes import ExitCode
from kctl.cli.failures import CommandError
from kctl.client.config import read_input
from kctl.client.errors import ConfigError
from kctl.serdes.codecs import Codec
from kctl.serdes.decoder import Form
from kctl.serdes.errors import SchemaError
from kctl.serdes.registry import MOST_SCHEMA_CHARS


def local_codec(form: Form, local: LocalSchemas) -> Codec | None:
    """Return the codec for data without schema IDs, or None if the format needs a schema file that is not given.

    Raises:
        CommandError: the file does not contain the schema.
        ConfigError: the file cannot be read.
        LibraryMissingError: a package is not installed.
    """
    if form is Form.MSGPACK:
        from kctl.serdes.message_pack import MessagePackCodec

        return MessagePackCodec()
    if form is Form.JSON:
        from kctl.serdes.json_schema import JsonSchemaCodec

        return JsonSchemaCodec("")
    try:
        if form is Form.AVRO and local.avsc is not None:
            from kctl.serdes.avro import AvroCodec

            return AvroCodec(avsc_text(local.avsc))
        if form is Form.PROTOBUF and local.protoset is not None and local.message is not None:
            from kctl.serdes.protobuf import ProtobufCodec

            return ProtobufCodec.of_set(_read(local.protoset, "--protoset"), local.message)
    except SchemaError as e:
        name = f"--avsc {local.avsc}" if form is Form.AVRO else f"--protoset {local.protoset}"
        raise CommandError(ExitCode.USAGE, f"{name}: {e}", e.hint) from None
    return None


def message_codec(local: LocalSchemas) -> Codec | None:
    """Return the --protoset codec for data with schema IDs, or None if --protoset is not given.

    Registries that store schemas only as text need the codec. Raises: see `local_codec`.
    """
    if local.protoset is None:
        return None
    from kctl.serdes.protobuf import ProtobufCodec

    found = local_codec(Form.PROTOBUF, local)
    return found.framed() if isinstance(found, ProtobufCodec) else None


def avsc_text(path: str) -> str:
    return schema_text(path, "--avsc")


def json_schema_text(path: str) -> str:
    return schema_text(path, "--json-schema")


def schema_text(path: str, option: str, stdin: BufferedIOBase | None = None) -> str:
    """Return the text of a file, or of `stdin` if given and the path is `-`.

    Args: option: option of the file, for messages.
    Raises: ConfigError: the file cannot be read or is not UTF-8.
    """
    try:
        return _read(path, option, stdin).decode()
    except UnicodeDecodeError:
        raise ConfigError(f"cannot read {option} {path}: the file is not UTF-8") from None


def _read(path: str, option: str, stdin: BufferedIOBase | None = None) -> bytes:
    try:
        most = MOST_SCHEMA_CHARS + 1
        content = read_input(path, most)[0] if stdin is None else stdin.read(most)
    except OSError as e:
        raise ConfigError(f"cannot read {option} {path}: {e.strerror}") from None
    if len(content) > MOST_SCHEMA_CHARS:
        raise ConfigError(f"cannot read {option} {path}: the file is larger than {MOST_SCHEMA_CHARS} bytes")
    return content
