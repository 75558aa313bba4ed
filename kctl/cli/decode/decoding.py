"""Decoders of keys and values for --decode, and the output of decoded records."""

from collections.abc import Iterable, Sequence

from kctl.cli.decode.local_schemas import avsc_text, local_codec, message_codec
from kctl.cli.decode.options import KEY, VALUE, DecodeRequest
from kctl.cli.decode.registry_access import has_registry, open_registry
from kctl.cli.decode.sides import Side
from kctl.cli.failures import CommandError, explain
from kctl.cli.formats.decoded import Sides
from kctl.cli.formats.output import Part, RecordOutput, Skip
from kctl.cli.options import Common
from kctl.client.consumer import FetchedChunk
from kctl.client.errors import CorruptBatchError, KafkaError
from kctl.client.records import BatchReader, Condition, ValuePlaces
from kctl.client.wording import counted
from kctl.serdes.codecs import Codecs
from kctl.serdes.decoder import Decoder, Form
from kctl.serdes.errors import is_of_data
from kctl.serdes.wire import KEY_HEADER, VALUE_HEADER

WITHOUT_REGISTRY = (Form.JSON, Form.MSGPACK)
"""Formats without schema IDs."""


def open_sides(common: Common, request: DecodeRequest, *, for_terminal: bool) -> Sides:
    """Return the decoders of keys and values.

    Raises:
        ConfigError: a format needs a schema registry or file.
        CommandError: a file is unusable.
    """
    forms = {name: None if form is None else Form(form) for name, form in ((KEY, request.key), (VALUE, request.value))}
    reader = None if request.local.avsc is None else avsc_text(request.local.avsc)
    needs = [form for form in forms.values() if form is not None and form not in WITHOUT_REGISTRY]
    locals_ = {form: local_codec(form, request.local) for form in forms.values() if form is not None}
    codecs = None
    if needs and (has_registry(common) or any(locals_[form] is None for form in needs)):
        codecs = Codecs(open_registry(common).store, reader)

    def side(name: str, header: str) -> Side | None:
        form = forms[name]
        if form is None:
            return None
        framed = message_codec(request.local) if form is Form.PROTOBUF else None
        decoder = Decoder(form, header, None if form in WITHOUT_REGISTRY else codecs, locals_[form], framed)
        return Side(
            name,
            header,
            decoder,
            lambda text: common.say(f"{common.environment.program}: note: {text}"),
            is_ascii=for_terminal,
            is_strict=request.is_strict,
        )

    return Sides(side(KEY, KEY_HEADER), side(VALUE, VALUE_HEADER))


class DecodedOutput(RecordOutput):
    """Output of records with decoded keys or values."""

    def __init__(
        self, parts: Sequence[Part], sides: Sides, *, head: bytes, null: bytes, conditions: Sequence[Condition]
    ) -> None:
        super().__init__(parts, head=head, null=null, conditions=conditions)
        self._sides = sides

    def is_of_record(self, error: CorruptBatchError) -> bool:
        return not isinstance(error.__cause__, KafkaError) or is_of_data(error.__cause__)

    def read(
        self, reader: BatchReader, chunk: FetchedChunk, limit: int, skip: Skip | None = None
    ) -> Iterable[bytes | ValuePlaces]:
        try:
            return super().read(reader, chunk, limit, skip)
        except CorruptBatchError as error:
            if self.is_of_record(error):
                raise
            failure = explain(error.__cause__ or error)
            raise CommandError(failure.code, str(error), failure.hint) from error

    def end(self) -> list[str]:
        return undecoded_notes(self._sides)


def undecoded_notes(sides: Sides) -> list[str]:
    return [
        f"{counted(side.failed, name)} printed raw because decoding failed"
        for name, side in ((KEY, sides.key), (VALUE, sides.value))
        if side is not None and side.failed
    ]
