"""Grammar of `--grep`: `[!][k:|v:|hk:|hv:|h:NAME=|t:]REGEX`, with the prefixes of kcl.

Without a prefix, keys and values are searched. Python's bytes patterns are used: `.` matches one byte.
"""

import re
import warnings
from collections.abc import Callable, Iterable

from kctl.cli.formats.decoded import NOT_DECODED, Sides, decoded_texts
from kctl.cli.formats.escapes import check_length
from kctl.cli.formats.template_error import TemplateError
from kctl.client.records import Condition

_SUBJECTS = {
    "k:": "key",
    "v:": "value",
    "t:": "topic",
    "hk:": "header_name",
    "hv:": "header_value",
    "h:": "named_header",
}
"""Subjects by prefix. No prefix is the start of another."""


def parse_greps(texts: Iterable[str], sides: Sides = NOT_DECODED) -> list[Condition]:
    """Return the conditions that a record must meet. Decoded data is searched as JSON.

    Raises: TemplateError: a pattern is invalid, or h: has no name.
    """
    return [_parse_grep(text, sides) for text in texts]


def _parse_grep(text: str, sides: Sides) -> Condition:
    check_length(text)
    start = 1 if text.startswith("!") else 0
    subject, name = "key_or_value", ""
    for prefix, meant in _SUBJECTS.items():
        if text.startswith(prefix, start):
            start += len(prefix)
            subject = meant
    if subject == "named_header":
        name, equals, _ = text[start:].partition("=")
        if not equals:
            raise TemplateError("the prefix h: needs a header name and a pattern: use h:NAME=REGEX", text, start, 1)
        start += len(name) + 1
    search = _compile(text, start).search
    if sides.decodes and subject in ("key", "value", "key_or_value"):
        return Condition(subject, _searching_decoded(search, sides, subject), text.startswith("!"))
    return Condition(subject, search, text.startswith("!"), name)


def _searching_decoded(search: Callable[[bytes], object], sides: Sides, subject: str) -> Callable[[bytes], object]:
    def find(data: bytes) -> object:
        found = (search(text) for text in decoded_texts(sides, subject, data))
        return next((each for each in found if each is not None), None)

    return find


def _compile(text: str, start: int) -> re.Pattern[bytes]:
    pattern = text[start:].encode("utf-8", "surrogateescape")
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # warnings about future versions of Python
            return re.compile(pattern)
    except re.error as e:
        before = pattern[: e.pos or 0].decode("utf-8", "surrogateescape")
        raise TemplateError(f"invalid regular expression: {e.msg}", text, start + len(before), 1) from None
    except (OverflowError, RecursionError) as e:
        raise TemplateError(f"invalid regular expression: {e}", text, start, 1) from None
