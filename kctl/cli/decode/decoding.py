"""What --decode comes to: decoders of keys and values, and the output in which they are printed."""

from collections.abc import Sequence

from kctl.cli.decode.local_schemas import avsc_text, local_codec, message_codec
from kctl.cli.decode.options import KEY, VALUE, DecodeRequest
from kctl.cli.decode.registry_access import has_registry, open_registry
from kctl.cli.decode.sides import Side
from kctl.cli.failures import CommandError
from kctl.cli.formats.decoded import Sides
from kctl.cli.formats.output import Part, RecordOutput
from kctl.cli.options import Common
from kctl.client.consumer import FetchedChunk
from kctl.client.records import BatchReader, Condition, ValuePlaces
from kctl.client.wording import counted
from kctl.serdes.codecs import Codecs
from kctl.serdes.decoder import Decoder, Form
from kctl.serdes.wire import KEY_HEADER, VALUE_HEADER

WITHOUT_REGISTRY = (Form.JSON, Form.MSGPACK)
"""Forms whose data never has a schema id before it."""


def open_sides(common: Common, request: DecodeRequest, *, for_terminal: bool) -> Sides:
    """Return what decodes keys and values.

    Raises: ConfigError: no registry is named and none of the files has the schema; CommandError: an unusable file.
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

    return Sides(side(KEY, KEY_HEADER), side(VALUE, VALUE_HEADER), request.is_strict)


class DecodedOutput(RecordOutput):
    """Records with decoded keys and values.

    With --strict what comes before the first that cannot be decoded is written, and then its error is raised.
    """

    def __init__(
        self, parts: Sequence[Part], sides: Sides, *, head: bytes, null: bytes, conditions: Sequence[Condition]
    ) -> None:
        super().__init__(parts, head=head, null=null, conditions=conditions)
        self._sides = sides
        self._error: CommandError | None = None

    def read(self, reader: BatchReader, chunk: FetchedChunk, limit: int) -> list[bytes | ValuePlaces]:
        return [self.joined(reader, chunk, limit)]

    def joined(self, reader: BatchReader, chunk: FetchedChunk, limit: int) -> bytes:
        """Return the output of the next records of a chunk, at most `limit` of them."""
        plan = self.plan_for(chunk)
        if self._error is not None:
            raise self._error
        if not self._sides.is_strict:
            return reader.output(plan, limit)
        written: list[bytes] = []
        try:
            for _ in range(limit):
                if reader.exhausted:
                    break
                written.append(reader.output(plan, 1))
        except CommandError as e:
            if not any(written):
                raise
            self._error = e
        return b"".join(written)

    def end(self) -> list[str]:
        return undecoded_notes(self._sides)


def undecoded_notes(sides: Sides) -> list[str]:
    """Return how many keys and values could not be decoded, where any."""
    return [
        f"{counted(side.failed, name)} could not be decoded and {'was' if side.failed == 1 else 'were'} printed raw"
        for name, side in ((KEY, sides.key), (VALUE, sides.value))
        if side is not None and side.failed
    ]
