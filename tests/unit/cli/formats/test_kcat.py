"""kcat's tokens; tests/conformance/test_kcat_format.py holds them against kcat itself."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kctl.cli.formats.kcat import kcat_parts
from kctl.cli.formats.output import RecordOutput
from kctl.cli.formats.template_error import TemplateError
from tests.unit.cli.formats.running import Content, chunk_of, written

RECORD: Content = (b"key", b"v\x1b\xff", [("h1", b"x\x07"), ("h2", None), ("h1", b"")])


def by_kcat(text: str, *records: Content, null: bytes = b"", for_terminal: bool = False) -> bytes:
    parts = kcat_parts(text, null=null, for_terminal=for_terminal)
    return written(RecordOutput(parts, null=null), chunk_of(*records))


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("%s|%S|%R|", b"v\x1b\xff|3|\x00\x00\x00\x03|"),
        ("%k|%K", b"key|3"),
        ("%h", b"h1=x\x07,h2=NULL,h1="),
        ("%t [%p] %o %T %%", b"a-topic [3] 40 1700000000000 %"),
        ("\\n\\r\\t\\\\\\x41\\x4a4B\\101\\0101\\xff", b"\n\r\t\\A\x4beA\xff"),
        ("\u2713", "\u2713".encode()),
        ("", b""),
    ],
)
def test_tokens(text: str, expected: bytes) -> None:
    assert by_kcat(text, RECORD) == expected


def test_null() -> None:
    assert by_kcat("%s %S %R %k %K %h\\n", (None, None, [])) == b" -1 \xff\xff\xff\xff  -1 \n"
    assert by_kcat("%s %k %S %K", (None, None, []), null=b"NULL") == b"NULL NULL -1 -1"
    assert by_kcat("%s %S %k %K", (b"", b"", []), null=b"NULL") == b" 0  0"


def test_on_a_terminal_only_the_text_may_steer() -> None:
    assert by_kcat("\\x1b%s %h", RECORD, for_terminal=True) == b"\x1bv\\x1b\\xff h1=x\\x07,h2=NULL,h1="


@pytest.mark.parametrize(
    ("text", "problem", "caret"),
    [
        ("%s %v", "kcat has no token %v; it has %s %S %R", "   ^^"),
        ("%", "a single % at the end", "^"),
        ("a\\q", "unknown escape \\q", " ^^"),
        ("a\\", "unknown escape \\", " ^"),
        ("\\xg", "\\x needs hexadecimal digits", "^^"),
    ],
)
def test_points_at_what_it_does_not_understand(text: str, problem: str, caret: str) -> None:
    with pytest.raises(TemplateError) as e:
        kcat_parts(text, null=b"", for_terminal=False)
    assert problem in str(e.value)
    assert str(e.value).endswith(f"\n  {caret}")


@given(st.text(max_size=30) | st.text(alphabet="%\\sSRkKhtpoTx0189af", max_size=12))
def test_any_text_is_read_or_refused(text: str) -> None:
    try:
        parts = kcat_parts(text, null=b"", for_terminal=False)
    except TemplateError:
        return
    written(RecordOutput(parts), chunk_of(RECORD))
