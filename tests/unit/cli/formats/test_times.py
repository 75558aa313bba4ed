"""Timestamps by strftime and by Go's layouts."""

import shutil
import subprocess
import time
from datetime import UTC, datetime

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kctl.cli.formats.template_error import LayoutError
from kctl.cli.formats.times import ISO, LOCAL, compile_go, compile_strftime

AT = 1_136_214_245_678
"""2006-01-02T15:04:05.678Z"""
MORNING = 1_700_000_000_000 - 14 * 3_600_000
"""2023-11-14T08:13:20Z"""

LETTERS = "AaBbCcDdeFGgHhIjklMmnpRrSTtUuVWwXxYyz%"
"""Those that date(1) has too and writes alike; %v, %f and %Z are besides."""


@given(st.integers(-62_135_596_800, 253_402_300_799))
@settings(max_examples=40, deadline=None)  # each starts a process
@pytest.mark.skipif(shutil.which("date") is None, reason="date(1) is not here")
def test_directives_are_those_of_date(seconds: int) -> None:
    if datetime.fromtimestamp(seconds, UTC).year < 1000:
        return  # the C library does not pad such years
    layout = "|".join(f"%{letter}" for letter in LETTERS)
    command = ["date", "-u", "-d", f"@{seconds}", f"+{layout}"]
    shown = subprocess.run(command, env={"LC_ALL": "C"}, check=True, capture_output=True).stdout
    assert compile_strftime(layout)(seconds * 1000) + b"\n" == shown


def test_iso_is_utc_and_local_has_the_offset_of_the_machine(monkeypatch: pytest.MonkeyPatch) -> None:
    assert ISO(AT) == b"2006-01-02T15:04:05.678Z"
    assert ISO(10**17) == b"%d" % 10**17, "what no calendar shows is a number"
    monkeypatch.setenv("TZ", "Asia/Tokyo")
    time.tzset()
    try:
        LOCAL.cache_clear()  # type: ignore[attr-defined]
        assert LOCAL(AT) == b"2006-01-03T00:04:05.678+09:00"
        assert LOCAL(253_402_300_799_999) == b"253402300799999", "the year 10000 in Tokyo"
    finally:
        monkeypatch.undo()
        time.tzset()
        LOCAL.cache_clear()  # type: ignore[attr-defined]


@pytest.mark.parametrize(
    ("layout", "expected"),
    [
        ("%v", b" 2-Jan-2006"),
        ("%f", b"678000"),
        ("%s", b"1136214245"),
        ("%Z", b"UTC"),
        ("\u2713 %F", "\u2713 2006-01-02".encode()),
        ("", b""),
    ],
)
def test_strftime(layout: str, expected: bytes) -> None:
    assert compile_strftime(layout)(AT) == expected


@pytest.mark.parametrize(
    ("layout", "expected"),
    [
        ("Mon Jan _2 15:04:05 2006", b"Tue Nov 14 08:13:20 2023"),  # ANSIC
        ("Mon Jan _2 15:04:05 MST 2006", b"Tue Nov 14 08:13:20 UTC 2023"),  # UnixDate
        ("Mon Jan 02 15:04:05 -0700 2006", b"Tue Nov 14 08:13:20 +0000 2023"),  # RubyDate
        ("02 Jan 06 15:04 MST", b"14 Nov 23 08:13 UTC"),  # RFC822
        ("Monday, 02-Jan-06 15:04:05 MST", b"Tuesday, 14-Nov-23 08:13:20 UTC"),  # RFC850
        ("2006-01-02T15:04:05Z07:00", b"2023-11-14T08:13:20Z"),  # RFC3339
        ("2006-01-02T15:04:05.999999999Z07:00", b"2023-11-14T08:13:20Z"),  # RFC3339Nano
        ("3:04PM", b"8:13AM"),  # Kitchen
        ("Jan _2 15:04:05.000", b"Nov 14 08:13:20.000"),  # StampMilli
        ("03:04:05 pm", b"08:13:20 am"),
        ("1/2/06", b"11/14/23"),
        ("002 __2", b"318 318"),
        ("January Month Janet", b"November Month Janet"),
        ("_2006", b"_2023"),
        ("-07:00 -07 -070000 -07:00:00 Z0700", b"+00:00 +00 +000000 +00:00:00 Z"),
        ("5s 4m", b"20s 13m"),
    ],
)
def test_go(layout: str, expected: bytes) -> None:
    assert compile_go(layout)(MORNING) == expected


@pytest.mark.parametrize(
    ("layout", "expected"),
    [
        ("05.000", b"05.678"),
        ("05.00", b"05.67"),
        ("05,000000000", b"05,678000000"),
        ("05.999999", b"05.678"),
        ("05.9", b"05.6"),
        ("15h2006.01.02", b"15h2006.01.02"),  # .01 is no fraction: a digit that is not of it follows
    ],
)
def test_go_fractions(layout: str, expected: bytes) -> None:
    assert compile_go(layout)(AT) == expected


@pytest.mark.parametrize(
    ("at", "expected"), [(-1, b"1969-12-31 23:59:59"), (2**62, b"%d" % 2**62), (-(2**63), b"-9223372036854775808")]
)
def test_timestamps_that_no_calendar_shows_are_numbers(at: int, expected: bytes) -> None:
    assert compile_strftime("%F %T")(at) == expected


@given(st.text(), st.integers(-(2**63), 2**63 - 1))
def test_any_go_layout_writes_any_timestamp(layout: str, at: int) -> None:
    compile_go(layout)(at)


@pytest.mark.parametrize(("layout", "position", "length"), [("%F %Q", 3, 2), ("x%", 1, 1), ("%-d", 0, 2)])
def test_refuses(layout: str, position: int, length: int) -> None:
    with pytest.raises(LayoutError) as e:
        compile_strftime(layout)
    assert (e.value.position, e.value.length) == (position, length)
