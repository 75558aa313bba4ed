"""Encoders of keys and values for --encode."""

from uuid import UUID

from kctl.cli.decode.encode_options import LOCAL, EncodeRequest
from kctl.cli.decode.local_schemas import avsc_text, json_schema_text, local_codec, message_codec
from kctl.cli.decode.options import KEY, VALUE
from kctl.cli.decode.registry_access import RegistryAccess, open_registry
from kctl.cli.exit_codes import ExitCode
from kctl.cli.failures import CommandError, exit_code
from kctl.cli.input.form import InputRecord
from kctl.cli.options import Common
from kctl.client.errors import ConfigError
from kctl.serdes.decoder import Form
from kctl.serdes.encoder import Encode, Encoder, LocalEncoder, parse_target
from kctl.serdes.errors import EncodeError, SerdesError
from kctl.serdes.registry import AVRO, JSON, Schema
from kctl.serdes.wire import KEY_HEADER, VALUE_HEADER


class Encoding:
    """Encoders of the keys and values of records."""

    def __init__(self, key: Encode | None, value: Encode | None) -> None:
        self._key = key
        self._value = value

    def encode(self, record: InputRecord, topic: str) -> InputRecord:
        """Return the record with encoded key and value. Null stays null.

        Raises:
            CommandError: data does not fit its schema. The message contains the place of the record.
            KafkaError: the registry failed.
        """
        key = self._side(KEY, self._key, record.key, record.key_schema, record, topic)
        value = self._side(VALUE, self._value, record.value, record.value_schema, record, topic)
        return record._replace(key=key, value=value)

    def _side(
        self,
        name: str,
        encode: Encode | None,
        data: bytes | None,
        schema: int | UUID | None,
        record: InputRecord,
        topic: str,
    ) -> bytes | None:
        if encode is None or data is None:
            return data
        try:
            return encode(data, topic, schema, record.headers)
        except EncodeError as e:
            raise CommandError(ExitCode.DATA, f"{record.place}: {name}: {e}", e.hint) from None
        except SerdesError as e:
            raise CommandError(exit_code(e), f"{record.place}: {name}: {e}", e.hint) from None


def open_encoding(common: Common, request: EncodeRequest) -> Encoding:
    """Return the encoders.

    Raises:
        ConfigError: a registry or schema file is missing.
        CommandError: a schema file is unusable.
    """
    access: RegistryAccess | None = None
    if any(given is not None and given not in LOCAL for given in (request.key, request.value)):
        access = open_registry(common)

    def side(name: str, given: str | None, header: str) -> Encode | None:
        if given is None:
            return None
        if given in LOCAL:
            codec = local_codec(Form(given), request.local)
            if codec is None:
                option = "--avsc FILE" if given == "avro" else "--protoset FILE --protobuf-message NAME"
                raise ConfigError(f"--encode {given} needs {option}. For a registry schema, use --encode SUBJECT")
            return LocalEncoder(codec).encode
        assert access is not None
        target, new = parse_target(given, name), _new_schema(request)
        return Encoder(target, header, access.registry, access.store, new, message_codec(request.local)).encode

    return Encoding(side(KEY, request.key, KEY_HEADER), side(VALUE, request.value, VALUE_HEADER))


def _new_schema(request: EncodeRequest) -> Schema | None:
    if not request.registers:
        return None
    if request.local.avsc is not None:
        return Schema(AVRO, avsc_text(request.local.avsc))
    return Schema(JSON, json_schema_text(request.json_schema or ""))
