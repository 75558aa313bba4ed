"""Grammar of `consume -f` and `produce -f`.

Supports the verbs and modifiers of rpk and kcl (docs/formats.md), except: %h has only %k %K %v %V in its braces, %d has
no Go layouts, and `{json}` writes keys and values as JSON.
"""

from collections.abc import Callable, Sequence
from enum import Enum
from typing import Any, NamedTuple, Protocol

from kctl.cli.formats.escapes import check_length, read_literal
from kctl.cli.formats.numbers import NUMBER_FORMS
from kctl.cli.formats.template_error import LayoutError, TemplateError, nearest
from kctl.cli.formats.texts import TEXT_FORMS

Convert = Callable[[Any], bytes]


class Verb(Enum):
    """Verb of a template. The value is its letter."""

    TOPIC = "t"
    TOPIC_BYTES = "T"
    KEY = "k"
    KEY_BYTES = "K"
    VALUE = "v"
    VALUE_BYTES = "V"
    HEADERS = "h"
    HEADER_COUNT = "H"
    PARTITION = "p"
    OFFSET = "o"
    LEADER_EPOCH = "e"
    TIMESTAMP = "d"
    ATTRIBUTE = "a"
    PRODUCER_ID = "x"
    PRODUCER_EPOCH = "y"
    LOG_START_OFFSET = "["
    LAST_STABLE_OFFSET = "|"
    HIGH_WATERMARK = "]"
    COUNT = "i"


class Attribute(Enum):
    """Attribute in `%a{...}`. The value is its word."""

    COMPRESSION = "compression"
    TIMESTAMP_TYPE = "timestamp-type"
    TRANSACTIONAL = "transactional-bit"
    CONTROL = "control-bit"


class Field(NamedTuple):
    """Field of a record.

    Attributes:
        convert: formats a number or bytes; None for the default format.
        is_json: write JSON, with null as null.
        is_schema: write the schema ID of a decoded key or value.
        attribute: attribute to write, for %a.
        parts: output of each header, for %h.
        form: name of the modifier, or empty.
    """

    verb: Verb
    convert: Convert | None = None
    is_json: bool = False
    is_schema: bool = False
    attribute: Attribute | None = None
    parts: "Template" = ()
    form: str = ""


Template = tuple[bytes | Field, ...]

_VERBS = {verb.value: verb for verb in Verb}
_TEXTS = (Verb.TOPIC, Verb.KEY, Verb.VALUE)
_OF_A_HEADER = (Verb.KEY, Verb.KEY_BYTES, Verb.VALUE, Verb.VALUE_BYTES)
_THEMSELVES = "%{}"
_CLOSING = {"{": "}", "[": "]", "(": ")", "<": ">"}
_NEAREST_VERBS = {"s": "v", "S": "V", "R": "V{big32}", "O": "o", "P": "p", "D": "d", "I": "i"}


class Check(Protocol):
    """Additional check of a field, which returns the problem or "". `before`: parts before the field."""

    def __call__(self, field: Field, before: Sequence[bytes | Field], *, inside_header: bool) -> str: ...


def parse_template(text: str, check: Check | None = None) -> Template:
    """Return the parts of a template. Adjacent literals are joined.

    Args: check: additional check of each field.
    Raises: TemplateError: the template is incomplete, or has an unknown verb, modifier or escape.
    """
    check_length(text)
    return _Parser(text, check).read_parts(inside_header=False)


class _Parser:
    def __init__(self, text: str, check: Check | None) -> None:
        self._text = text
        self._check = check
        self._at = 0

    def read_parts(self, *, inside_header: bool) -> Template:
        parts: list[bytes | Field] = []
        literal = bytearray()
        while self._at < len(self._text):
            if inside_header and self._next() == "}":
                break
            if self._next() != "%":
                part, self._at = read_literal(self._text, self._at)
                literal += part
            elif self._next(1) in _THEMSELVES and self._next(1):
                literal += self._next(1).encode()
                self._at += 2
            else:
                if literal:
                    parts.append(bytes(literal))
                    literal.clear()
                start, field = self._at, self._read_field(inside_header=inside_header)
                if self._check is not None and (problem := self._check(field, parts, inside_header=inside_header)):
                    raise self._fail(problem, start, self._at - start)
                parts.append(field)
        if literal:
            parts.append(bytes(literal))
        return tuple(parts)

    def _next(self, ahead: int = 0) -> str:
        return self._text[self._at + ahead : self._at + ahead + 1]

    def _fail(self, problem: str, position: int, length: int = 1) -> TemplateError:
        return TemplateError(problem, self._text, position, length)

    def _read_field(self, *, inside_header: bool) -> Field:
        start = self._at
        letter = self._next(1)
        verb = _VERBS.get(letter)
        if not letter:
            raise self._fail("a single % at the end is not a verb: write %% for a percent sign", start)
        if verb is None:
            raise self._fail(f"unknown verb %{letter}{_nearest_verb(letter)}", start, 2)
        if inside_header and verb not in _OF_A_HEADER:
            raise self._fail(f"%{letter} is not supported inside %h{{...}}: use %k, %K, %v, or %V", start, 2)
        self._at += 2
        if verb is Verb.HEADERS:
            return self._read_headers(start)
        if verb is Verb.ATTRIBUTE:
            return self._read_attribute(start)
        if self._next() != "{":
            return Field(verb)
        self._at += 1
        field = self._read_modifier(verb)
        self._expect_end_of(field)
        return field

    def _read_headers(self, start: int) -> Field:
        if self._next() != "{":
            raise self._fail("%h needs a template for each header, such as %h{%k=%v }", start, 2)
        self._at += 1
        parts = self.read_parts(inside_header=True)
        if not self._next():
            raise self._fail("%h{ is not closed: add }", start, 3)
        self._at += 1
        return Field(Verb.HEADERS, parts=parts)

    def _read_attribute(self, start: int) -> Field:
        known = [attribute.value for attribute in Attribute]
        if self._next() != "{":
            raise self._fail(f"%a needs an attribute: use %a{{{'|'.join(known)}}}", start, 2)
        self._at += 1
        at, word = self._at, self._read_word()
        if word not in known:
            raise self._fail(f"unknown attribute {word}{nearest(word, known)}", at, max(1, len(word)))
        convert = None
        if self._next() == ";":
            self._at += 1
            convert = self._read_number_form(self._at, self._read_word())
        field = Field(Verb.ATTRIBUTE, convert, attribute=Attribute(word))
        self._expect_end_of(field)
        return field

    def _read_modifier(self, verb: Verb) -> Field:
        at, word = self._at, self._read_word()
        if verb is Verb.TIMESTAMP:
            if word == "strftime":
                from kctl.cli.formats.times import compile_strftime  # deferred import: only for this modifier

                return Field(verb, self._compile(compile_strftime), form=word)
            if word in ("iso", "local"):
                from kctl.cli.formats.times import ISO, LOCAL

                return Field(verb, ISO if word == "iso" else LOCAL, form=word)
            return Field(verb, self._read_number_form(at, word, "iso", "local", "strftime[...]"), form=word)
        if verb not in _TEXTS:
            return Field(verb, self._read_number_form(at, word), form=word)
        if word == "unpack":
            from kctl.cli.formats.unpack import compile_unpack

            return Field(verb, self._compile(compile_unpack), form=word)
        if word == "json":
            return Field(verb, is_json=True)
        if word == "schema" and verb is not Verb.TOPIC:
            return Field(verb, is_schema=True, form=word)
        if word in TEXT_FORMS:
            return Field(verb, TEXT_FORMS[word], form=word)
        known = (*TEXT_FORMS, "unpack[...]", "json", "schema")
        raise self._fail(f"unknown modifier {word} of %{verb.value}{nearest(word, known)}", at, max(1, len(word)))

    def _read_number_form(self, at: int, word: str, *besides: str) -> Convert:
        if word not in NUMBER_FORMS:
            problem = f"unknown modifier {word} of a number{nearest(word, (*NUMBER_FORMS, *besides))}"
            raise self._fail(problem, at, max(1, len(word)))
        return NUMBER_FORMS[word]

    def _read_word(self) -> str:
        start = self._at
        while self._next().isalnum() or self._next() == "-":
            self._at += 1
        return self._text[start : self._at]

    def _compile(self, compile_layout: Callable[[str], Convert]) -> Convert:
        """Parse a text in brackets and compile it. Brackets may be any character, repeated any number of times."""
        start = self._at
        mark = self._next()
        if not mark or mark == "}":
            raise self._fail("the modifier needs a value in brackets, such as [...]", start)
        while self._next() == mark:
            self._at += 1
        first = self._at
        end = _CLOSING.get(mark, mark) * (first - start)
        last = self._text.find(end, first)
        if last < 0:
            raise self._fail(f"the closing {end} is missing", start, first - start)
        self._at = last + len(end)
        try:
            return compile_layout(self._text[first:last])
        except LayoutError as e:
            raise self._fail(e.problem, first + e.position, e.length) from None

    def _expect_end_of(self, field: Field) -> None:
        if self._next() != "}":
            raise self._fail(f"expected }} after the modifier of %{field.verb.value}", self._at)
        self._at += 1


def _nearest_verb(letter: str) -> str:
    if letter in _NEAREST_VERBS:
        return f": did you mean %{_NEAREST_VERBS[letter]}?"
    if letter.swapcase() in _VERBS:
        return f": did you mean %{letter.swapcase()}?"
    return f": use {' '.join(f'%{known}' for known in (*_VERBS, *_THEMSELVES))}"
