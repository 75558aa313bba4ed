"""Output plans: a template, or the lossless JSON form, made into what `kctl.client.records` runs over batches.

Owns which field a verb means and how values are written; the loop over records is not here.
Shown by tests/unit/cli/formats/test_plans.py.
"""

from base64 import b64encode
from collections.abc import Sequence
from json.encoder import encode_basestring, encode_basestring_ascii
from typing import Any

from kctl.cli.formats.template import Template, Verb
from kctl.cli.formats.terminal import harmless_bytes
from kctl.client.records import Header, OutputField, OutputPlan

_FIELDS: dict[Verb, str] = {
    Verb.TOPIC: "topic",
    Verb.PARTITION: "partition",
    Verb.OFFSET: "offset",
    Verb.KEY: "key",
    Verb.VALUE: "value",
    Verb.HEADERS: "headers",
    Verb.TOPIC_BYTES: "topic_size",
    Verb.KEY_BYTES: "key_size",
    Verb.VALUE_BYTES: "value_size",
    Verb.HEADER_COUNT: "header_count",
    Verb.TIMESTAMP: "timestamp",
    Verb.COUNT: "count",
}


def template_plan(template: Template, *, for_terminal: bool) -> OutputPlan:
    """Return the plan of a template.

    Args: for_terminal: write keys, values and headers so that they cannot steer a terminal; the template's own bytes
        are the user's and stay as they are.
    """
    return OutputPlan([part if isinstance(part, bytes) else _field(part, for_terminal) for part in template])


def _field(verb: Verb, for_terminal: bool) -> OutputField:
    if not for_terminal or verb not in (Verb.KEY, Verb.VALUE, Verb.HEADERS):
        return OutputField(_FIELDS[verb])
    return OutputField(_FIELDS[verb], _harmless_headers if verb is Verb.HEADERS else _harmless)


def _harmless(data: Any) -> bytes:
    return b"" if data is None else harmless_bytes(data)


def _harmless_headers(headers: Any) -> bytes:
    return b",".join(
        harmless_bytes(name.encode("utf-8", "surrogateescape")) + b"=" + _harmless(value) for name, value in headers
    )


# --- the lossless form ----------------------------------------------------------------------------------------------


def jsonl_plan(*, for_terminal: bool) -> OutputPlan:
    """Return the plan of `--output jsonl`: one object a record, from which the record can be made again.

    `{"topic","partition","offset","timestamp","key","value","headers":[[name,value],...]}`; null is null; bytes that
    are not UTF-8 are `{"base64":"..."}`.

    Args: for_terminal: write all but ASCII as escapes, since JSON leaves some control characters bare.
    """
    quote = encode_basestring_ascii if for_terminal else encode_basestring

    def text(data: Any) -> bytes:
        if data is None:
            return b"null"
        try:
            quoted: str = quote(data.decode())
        except UnicodeDecodeError:
            return b'{"base64":"%b"}' % b64encode(data)
        return quoted.encode()

    def pairs(headers: Sequence[Header]) -> bytes:
        return b"[%b]" % b",".join(
            b"[%b,%b]" % (text(name.encode("utf-8", "surrogateescape")), text(value)) for name, value in headers
        )

    return OutputPlan(
        [
            b'{"topic":',
            OutputField("topic", lambda topic: text(topic.encode())),
            b',"partition":',
            OutputField("partition"),
            b',"offset":',
            OutputField("offset"),
            b',"timestamp":',
            OutputField("timestamp"),
            b',"key":',
            OutputField("key", text),
            b',"value":',
            OutputField("value", text),
            b',"headers":',
            OutputField("headers", pairs),
            b"}\n",
        ]
    )
