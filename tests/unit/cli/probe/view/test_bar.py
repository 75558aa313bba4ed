"""Bars to a scale: every phase where it belongs, the limit marked, and ends that can be told apart without colour."""

import pytest

from kctl.cli.probe.view.bar import BLOCK, LIGHT_BLOCK, STYLES, Scale, bar, scale_of, slowest_phase
from kctl.client.errors import ConnectionRefused, ConnectTimeout, KafkaError
from kctl.client.events import Phase
from tests.unit.cli.probe.view.scenario import GOOD, LIMIT_MS, START_MS, report

WIDTH = 20
SCALE = Scale(LIMIT_MS, LIMIT_MS)  # 100 ms a cell


def drawn(
    phases_ms: dict[Phase, int], phase: Phase, error: KafkaError | None = None, elapsed_ms: int = 0, at_ms: int = 0
) -> str:
    made = report(GOOD, phases_ms, phase, error, elapsed_ms)
    return bar(made, START_MS + at_ms, WIDTH, SCALE).plain.replace(BLOCK, "#").replace(LIGHT_BLOCK, ".")


def test_phases_are_stacked_to_the_scale_and_named_where_there_is_room() -> None:
    taken = {
        Phase.DNS: 100,
        Phase.TCP: 200,
        Phase.TLS: 500,
        Phase.APIVERSIONS: 200,
        Phase.SASL: 100,
        Phase.METADATA: 400,
    }
    assert drawn(taken, Phase.READY) == "####tls########     |"


def test_each_phase_has_its_color_and_the_slowest_one_is_known() -> None:
    made = report(GOOD, {Phase.DNS: 200, Phase.TLS: 900}, Phase.READY)
    line = bar(made, START_MS, WIDTH, SCALE)
    assert {str(span.style): line.plain[span.start : span.end] for span in line.spans[:2]} == {
        STYLES[Phase.DNS]: BLOCK * 2,
        STYLES[Phase.TLS]: f"{BLOCK}tls{BLOCK * 5}",
    }
    assert slowest_phase(made) is Phase.TLS
    assert len(set(STYLES.values())) == len(STYLES)


def test_running_phase_is_drawn_with_light_blocks() -> None:
    assert drawn({Phase.DNS: 100}, Phase.TCP, at_ms=500) == "#....               |"
    assert drawn({Phase.DNS: 100}, Phase.TCP, at_ms=1900) == "#.tcp.............. |"


def test_a_failure_and_an_expiry_have_their_marks() -> None:
    refused = ConnectionRefused("no")
    assert drawn({Phase.DNS: 100}, Phase.TCP, refused, 500) == "#....x              |"
    expired = ConnectTimeout("no", limit_ms=LIMIT_MS, elapsed_ms=LIMIT_MS)
    assert drawn({Phase.DNS: 100}, Phase.TCP, expired, LIMIT_MS) == "#.tcp...............!"


def test_attempt_too_short_for_the_scale_is_drawn_as_its_longest_phase() -> None:
    assert drawn({Phase.DNS: 1, Phase.TCP: 2, Phase.APIVERSIONS: 1}, Phase.READY) == "#                   |"


def test_fast_addresses_are_visible_beside_a_slow_one() -> None:
    fast, slow = {Phase.TCP: 1, Phase.METADATA: 2}, {Phase.TCP: 1, Phase.METADATA: 1500}
    reports = [report(GOOD, taken, Phase.READY) for taken in (fast, slow)]
    scale = scale_of(reports, START_MS)
    assert scale == Scale(2000, LIMIT_MS, is_logarithmic=True)
    assert [bar(each, START_MS, WIDTH, scale).plain.count(BLOCK) for each in reports] == [4, 11]
    assert scale.axis(WIDTH) == "0 1ms 10ms  100ms  2s"
    assert not scale_of([report(GOOD, {Phase.TCP: 20 * count}, Phase.READY) for count in (1, 2)], 0).is_logarithmic


@pytest.mark.parametrize(
    ("scale", "width", "axis"),
    [
        (SCALE, 20, "0    500ms         2s"),
        (Scale(10, 2000), 40, "0       2ms         5ms     7ms      10ms"),
        (Scale(10, 2000), 4, " 10ms"),
        (
            Scale(100_000, 2000, is_logarithmic=True),
            60,
            "0   1ms     10ms        100ms       1s          10s     1m40s",
        ),
    ],
)
def test_axis_has_the_times_that_have_room(scale: Scale, width: int, axis: str) -> None:
    assert scale.axis(width) == axis


@pytest.mark.parametrize(
    ("taken_ms", "scale_ms", "shows_limit"),
    [(3, 10, False), (17, 20, False), (300, 500, False), (999, 1000, False), (1000, 2000, True), (2003, 2000, True)],
)
def test_the_scale_grows_until_the_limit_is_on_it(taken_ms: int, scale_ms: int, shows_limit: bool) -> None:
    scale = scale_of([report(GOOD, {Phase.DNS: taken_ms}, Phase.READY)], START_MS)
    assert (scale.ms, scale.shows_limit) == (scale_ms, shows_limit)
    assert scale.limit_text == ("| connect limit 2s" if shows_limit else "")


def test_a_request_that_outlasts_the_connect_limit_has_room() -> None:
    made = report(GOOD, {Phase.TCP: 100, Phase.METADATA: 3900}, Phase.READY)
    scale = scale_of([made], START_MS)
    assert scale.ms == 5000
    assert bar(made, START_MS, WIDTH, scale).plain.replace(BLOCK, "#") == "#metadat|#######     "
