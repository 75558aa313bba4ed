"""Bars to a scale: every phase where it belongs, the limit marked, and ends that can be told apart without colour."""

import pytest

from kctl.cli.probe.view.bar import Scale, bar, scale_of
from kctl.client.errors import ConnectionRefused, ConnectTimeout, KafkaError
from kctl.client.events import Phase
from tests.unit.cli.probe.view.scenario import GOOD, LIMIT_MS, START_MS, report

WIDTH = 20
SCALE = Scale(LIMIT_MS, LIMIT_MS)  # 100 ms a cell


def drawn(
    phases_ms: dict[Phase, int], phase: Phase, error: KafkaError | None = None, elapsed_ms: int = 0, at_ms: int = 0
) -> str:
    made = report(GOOD, phases_ms, phase, error, elapsed_ms)
    return bar(made, START_MS + at_ms, WIDTH, SCALE).plain


def test_phases_are_stacked_to_the_scale() -> None:
    taken = {
        Phase.DNS: 100,
        Phase.TCP: 200,
        Phase.TLS: 300,
        Phase.APIVERSIONS: 200,
        Phase.SASL: 100,
        Phase.METADATA: 400,
    }
    assert drawn(taken, Phase.READY) == "DTTLLLAASMMMM       |"


def test_running_phase_is_drawn_in_small_letters() -> None:
    assert drawn({Phase.DNS: 100}, Phase.TCP, at_ms=500) == "Dtttt               |"
    assert drawn({Phase.DNS: 100}, Phase.TCP, at_ms=1900) == "Dtttttttttttttttttt |"


def test_a_failure_and_an_expiry_have_their_marks() -> None:
    refused = ConnectionRefused("no")
    assert drawn({Phase.DNS: 100}, Phase.TCP, refused, 500) == "Dttttx              |"
    expired = ConnectTimeout("no", limit_ms=LIMIT_MS, elapsed_ms=LIMIT_MS)
    assert drawn({Phase.DNS: 100}, Phase.TCP, expired, LIMIT_MS) == "Dttttttttttttttttttt!"


def test_attempt_too_short_for_the_scale_is_drawn_as_its_longest_phase() -> None:
    assert drawn({Phase.DNS: 1, Phase.TCP: 2, Phase.APIVERSIONS: 1}, Phase.READY) == "T                   |"


@pytest.mark.parametrize(
    ("taken_ms", "scale_ms", "shows_limit"),
    [(3, 10, False), (17, 20, False), (300, 500, False), (999, 1000, False), (1000, 2000, True), (2003, 2000, True)],
)
def test_the_scale_grows_until_the_limit_is_on_it(taken_ms: int, scale_ms: int, shows_limit: bool) -> None:
    scale = scale_of([report(GOOD, {Phase.DNS: taken_ms}, Phase.READY)], START_MS)
    assert (scale.ms, scale.shows_limit) == (scale_ms, shows_limit)
    assert ("further right" in str(scale)) is not shows_limit


def test_a_request_that_outlasts_the_connect_limit_has_room() -> None:
    made = report(GOOD, {Phase.TCP: 100, Phase.METADATA: 3900}, Phase.READY)
    scale = scale_of([made], START_MS)
    assert scale.ms == 5000
    assert bar(made, START_MS, WIDTH, scale).plain == "MMMMMMMM|MMMMMMM     "
