"""Timestamps by strftime and by Go's layouts."""

import shutil
import subprocess
import time
from datetime import UTC, datetime

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kctl.cli.formats.template_error import LayoutError
from kctl.cli.formats.times import ISO, LOCAL, compile_strftime

AT = 1_136_214_245_678
"""2006-01-02T15:04:05.678Z"""

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
    ("at", "expected"), [(-1, b"1969-12-31 23:59:59"), (2**62, b"%d" % 2**62), (-(2**63), b"-9223372036854775808")]
)
def test_timestamps_that_no_calendar_shows_are_numbers(at: int, expected: bytes) -> None:
    assert compile_strftime("%F %T")(at) == expected


@pytest.mark.parametrize(("layout", "position", "length"), [("%F %Q", 3, 2), ("x%", 1, 1), ("%-d", 0, 2)])
def test_refuses(layout: str, position: int, length: int) -> None:
    with pytest.raises(LayoutError) as e:
        compile_strftime(layout)
    assert (e.value.position, e.value.length) == (position, length)
