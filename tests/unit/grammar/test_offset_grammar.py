"""The grammar of -o: what is read, what is refused and where the caret stands, and that what is printed reads back."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kctl.grammar.offset_grammar import LARGEST_OFFSET, OffsetError, parse_offset
from kctl.grammar.offsets import END, START, Absolute, Anchor, AtTime, OffsetSpec, Position, Relative

NOW_MS = 1_700_000_000_000
NOON_MS = 1_714_564_800_000
"""2024-05-01T12:00:00Z"""
HOUR_MS = 3_600_000


@pytest.mark.parametrize(
    ("text", "start"),
    [
        ("start", START),
        ("beginning", START),
        ("Earliest", START),
        ("oldest", START),
        ("end", END),
        ("latest", END),
        ("newest", END),
        ("0", Absolute(0)),
        (" 42 ", Absolute(42)),
        ("-10", Relative(Anchor.END, -10)),
        ("-0", END),
        ("+10", Relative(Anchor.START, 10)),
        ("start+10", Relative(Anchor.START, 10)),
        ("end-10", Relative(Anchor.END, -10)),
        ("latest-1", Relative(Anchor.END, -1)),
        ("stored", Relative(Anchor.STORED)),
        ("stored-5", Relative(Anchor.STORED, -5)),
        ("stored+5", Relative(Anchor.STORED, 5)),
        ("@1700000000123", AtTime(1_700_000_000_123)),
        ("@1700000000", AtTime(1_700_000_000_000)),
        ("@170000000", AtTime(170_000_000_000)),
        ("@now", AtTime(NOW_MS)),
        ("@end", END),
        ("@-1h", AtTime(NOW_MS - HOUR_MS)),
        ("-1m30s", AtTime(NOW_MS - 90_000)),
        ("-PT1H", AtTime(NOW_MS - HOUR_MS)),
        ("-1.5h", AtTime(NOW_MS - HOUR_MS * 3 // 2)),
        ("@-2d", AtTime(NOW_MS - 48 * HOUR_MS)),
        ("@-PT1H", AtTime(NOW_MS - HOUR_MS)),
        ("@-P1DT30M", AtTime(NOW_MS - 24 * HOUR_MS - HOUR_MS // 2)),
        ("@-99999d", AtTime(0)),
        ("@2024-05-01", AtTime(NOON_MS - 12 * HOUR_MS)),
        ("@2024-05-01T12:00:00Z", AtTime(NOON_MS)),
        ("@2024-05-01T12:00:00.123Z", AtTime(NOON_MS + 123)),
        ("@2024-05-01T14:00:00+02:00", AtTime(NOON_MS)),
        ("@2024-05-01t12:00:00z", AtTime(NOON_MS)),
        ("@2024-05-01 12:00", AtTime(NOON_MS)),
        ("s@1700000000123", AtTime(1_700_000_000_123)),
        ("s@5", AtTime(5)),
    ],
)
def test_a_start(text: str, start: Position) -> None:
    assert parse_offset(text, NOW_MS) == OffsetSpec(start=start)


@pytest.mark.parametrize(
    ("text", "spec"),
    [
        ("100:200", OffsetSpec((), Absolute(100), Absolute(200))),
        ("100:", OffsetSpec((), Absolute(100), is_open=True)),
        (":200", OffsetSpec((), None, Absolute(200))),
        (":end", OffsetSpec((), None, END)),
        (":-5", OffsetSpec((), None, Relative(Anchor.END, -5))),
        ("stored:end-1", OffsetSpec((), Relative(Anchor.STORED), Relative(Anchor.END, -1))),
        ("start+5:+10", OffsetSpec((), Relative(Anchor.START, 5), Relative(Anchor.START, 10))),
        ("@-1h:end", OffsetSpec((), AtTime(NOW_MS - HOUR_MS), END)),
        ("@-48h:-24h", OffsetSpec((), AtTime(NOW_MS - 48 * HOUR_MS), AtTime(NOW_MS - 24 * HOUR_MS))),
        ("@-1h:@now", OffsetSpec((), AtTime(NOW_MS - HOUR_MS), AtTime(NOW_MS))),
        ("@-1h:", OffsetSpec((), AtTime(NOW_MS - HOUR_MS), is_open=True)),
        (":@-1h", OffsetSpec((), None, AtTime(NOW_MS - HOUR_MS))),
        ("@:-1h", OffsetSpec((), None, AtTime(NOW_MS - HOUR_MS))),
        ("@2024-05-01:1h", OffsetSpec((), AtTime(NOON_MS - 12 * HOUR_MS), AtTime(NOON_MS - 11 * HOUR_MS))),
        ("@2024-05-01T12:00:10m", OffsetSpec((), AtTime(NOON_MS), AtTime(NOON_MS + 600_000))),
        ("@2024-05-01T12:00:00Z:2024-05-01T13:00:00Z", OffsetSpec((), AtTime(NOON_MS), AtTime(NOON_MS + HOUR_MS))),
        ("@2024-05-01T12:00:PT1H", OffsetSpec((), AtTime(NOON_MS), AtTime(NOON_MS + HOUR_MS))),
        ("100:@-1h", OffsetSpec((), Absolute(100), AtTime(NOW_MS - HOUR_MS))),
        ("e@1700000000123", OffsetSpec((), None, AtTime(1_700_000_000_123))),
        ("0=100:200", OffsetSpec(((0, 0),), Absolute(100), Absolute(200))),
        ("3-5=@-1h:end", OffsetSpec(((3, 5),), AtTime(NOW_MS - HOUR_MS), END)),
        ("0,2,4-6=end", OffsetSpec(((0, 0), (2, 2), (4, 6)), END)),
        ("1=e@7", OffsetSpec(((1, 1),), None, AtTime(7))),
    ],
)
def test_ranges_and_partitions(text: str, spec: OffsetSpec) -> None:
    assert parse_offset(text, NOW_MS) == spec


@pytest.mark.parametrize(
    ("text", "words", "at"),
    [
        ("", "not an offset", 0),
        ("strat", "'strat' is not an offset", 0),
        ("1.5", "not an offset", 0),
        ("--5", "not an offset", 0),
        ("٣", "not an offset", 0),
        (":", "before or after the colon", 0),
        ("5:strat", "'strat' is not an offset", 2),
        ("start-5", "before the first record", 5),
        ("end+5", "after the last record", 3),
        ("9223372036854775808", "larger than the maximum offset", 0),
        ("end-99999999999999999999", "larger than the maximum offset", 4),
        ("9" * 201, "too many characters", 0),
        ("1:2:3", "unexpected ", 3),
        ("200:100", "before the start", 4),
        ("end:-5", "before the start", 4),
        ("@now:-1h", "before the start", 5),
        ("@", "not a time", 1),
        ("@12345", "not a time", 1),
        ("@2024-13-01", "month must be", 1),
        ("@2024-05-01T25:00Z", "hour must be", 1),
        ("@-5", "has no unit", 1),
        ("@1h", "use @-1h for a time in the past", 1),
        ("5:@1h", "use @-1h for a time in the past", 3),
        ("@tomorrow", "not a time", 1),
        ("@-1h:tomorrow", "not a time", 5),
        ("@-1h:42", "has no unit", 5),
        ("x=5", "use partitions before '='", 0),
        ("0,=5", "use partitions before '='", 2),
        ("4-2=5", "not a valid range of partitions", 0),
        ("0=", "not an offset", 2),
        ("0=1=2", "not an offset", 2),
        ("s@now", "not an offset", 0),
        ("s@99999999999999999", "not a time in milliseconds", 2),
        ("s@5:6", "unexpected ", 3),
    ],
)
def test_malformed_offset_is_refused_with_the_place_of_the_mistake(text: str, words: str, at: int) -> None:
    with pytest.raises(OffsetError, match=words) as e:
        parse_offset(text, NOW_MS)
    assert e.value.at == at
    assert str(e.value).splitlines()[-1] == " " * (2 + at) + "^"


OFFSETS = st.integers(0, LARGEST_OFFSET)
POSITIONS = st.one_of(
    OFFSETS.map(Absolute),
    OFFSETS.map(lambda shift: Relative(Anchor.START, shift)),
    OFFSETS.map(lambda shift: Relative(Anchor.END, -shift)),
    st.integers(-LARGEST_OFFSET, LARGEST_OFFSET).map(lambda shift: Relative(Anchor.STORED, shift)),
    st.integers(0, 253_402_300_799_999).map(AtTime),
)
SPANS = st.lists(st.tuples(st.integers(0, 999_900_000), st.integers(0, 9999)).map(lambda s: (s[0], s[0] + s[1])))


def _key(position: Position | None) -> tuple[object, int]:
    match position:
        case Absolute(offset):
            return "absolute", offset
        case AtTime(at_ms):
            return "time", at_ms
        case Relative(anchor, shift):
            return anchor, shift
    return None, 0


@st.composite
def specs(draw: st.DrawFn) -> OffsetSpec:
    spans = tuple(draw(SPANS)[:4])
    start, end = draw(st.none() | POSITIONS), draw(st.none() | POSITIONS)
    if start is None and end is None:
        start = draw(POSITIONS)
    if _key(start)[0] == _key(end)[0] and _key(start)[1] > _key(end)[1]:
        start, end = end, start
    if isinstance(start, AtTime) and not isinstance(end, AtTime | None):
        end = END  # behind a time the grammar has nothing else
    return OffsetSpec(spans, start, end, end is None and draw(st.booleans()))


@given(specs())
def test_printed_offset_is_parsed_back(spec: OffsetSpec) -> None:
    text = str(spec)
    if len(text) <= 200:
        assert parse_offset(text, NOW_MS) == spec
        assert str(parse_offset(text, NOW_MS)) == text


@given(st.text(alphabet="0123456789-+:@=,.sentardoPTHZ \n", max_size=30))
def test_any_text_is_read_or_refused_with_a_place(text: str) -> None:
    place = -1
    try:
        printed = str(parse_offset(text, NOW_MS))
    except OffsetError as e:
        place = e.at
    if place >= 0:
        assert place <= len(text)
    else:
        assert str(parse_offset(printed, NOW_MS)) == printed


def test_duration_with_a_sign_is_that_time_ago() -> None:
    assert parse_offset("-1h", 10_000_000) == parse_offset("@-1h", 10_000_000)
    assert parse_offset("0=-1.5s", 10_000) == parse_offset("0=@-1.5s", 10_000)
    assert parse_offset("-10", 10_000_000) == OffsetSpec(start=Relative(Anchor.END, -10))
