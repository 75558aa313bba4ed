"""The page of a report in a headless browser: something is to be seen, nothing is outside of a telephone's width or a
wide screen's, nothing is asked for elsewhere, and what the plots tell is there without colour. The pictures are kept
in $KCTL_SCREENSHOTS where that is set.
"""

import json
import os
from collections.abc import Iterator
from pathlib import Path
from random import Random

import pytest

from kctl.pipeline.jobs.report.fleet import Fleet
from kctl.pipeline.jobs.report.folding import fold_file
from kctl.pipeline.jobs.report.page import page
from kctl.pipeline.jobs.report.summary import summarise
from tests.pipeline.browser import Browser, browser
from tests.unit.pipeline.report.fleets import DAY_MS, START_MS, NodeTruth, Times, probe_lines, write

WIDTHS = (400, 1200)
OUTSIDE = """
JSON.stringify([...document.body.querySelectorAll("*")].flatMap(element => {
  const box = element.getBoundingClientRect();
  if (element.closest("defs") || !box.width || !box.height) return [];
  const outside = box.left < -0.5 || box.right > innerWidth + 0.5;
  const name = `${element.tagName} ${element.className.baseVal ?? element.className}`;
  return outside ? [`${name} ${box.left} ${box.right}`] : [];
}))
"""
SHOWN = """
JSON.stringify([...document.querySelectorAll("SELECTOR")].map(element => {
  const box = element.getBoundingClientRect();
  return [box.left + scrollX, box.top + scrollY, box.width, box.height];
}))
"""


@pytest.fixture(scope="module")
def written(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("page")
    long = f"{'averylongnameofabroker' * 5}1.example.org:9092"
    nodes = [
        NodeTruth(long, ends_at_ms=START_MS + 3 * DAY_MS),
        NodeTruth("flapping.example.org:9092", is_up=lambda number: number // 4 % 3 > 0),
        NodeTruth("dead.example.org:9092", is_up=lambda _: False),
    ]
    write(folder / "berlin.jsonl", probe_lines(nodes, Random(1), 300))
    write(folder / "sydney.jsonl", probe_lines([NodeTruth("b:9092", tls=Times(300))], Random(2), 500))
    (folder / "bad.jsonl").write_text("not-" * 100)
    fleet = Fleet()
    for name in ("berlin", "sydney", "bad"):
        fold_file(str(folder / f"{name}.jsonl"), name, fleet)
    (folder / "report.html").write_text(page(summarise(fleet, now_ms=START_MS)))
    return folder / "report.html"


@pytest.fixture(scope="module")
def opened(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Browser]:
    with browser(tmp_path_factory.mktemp("browser")) as found:
        yield found


def boxes(opened: Browser, selector: str) -> list[tuple[float, float, float, float]]:
    found: list[tuple[float, float, float, float]] = json.loads(opened.evaluate(SHOWN.replace("SELECTOR", selector)))
    return found


@pytest.mark.parametrize("width", WIDTHS)
def test_everything_is_inside_of_the_window(written: Path, opened: Browser, width: int, tmp_path: Path) -> None:
    assert opened.open(written, width=width) == []
    assert opened.evaluate("innerWidth") == width
    assert opened.evaluate("document.documentElement.scrollWidth") <= width
    assert json.loads(opened.evaluate(OUTSIDE)) == []
    kept = os.environ.get("KCTL_SCREENSHOTS")
    opened.screenshot((Path(kept) if kept else tmp_path) / f"report-{width}.png")


@pytest.mark.parametrize("width", WIDTHS)
def test_plots_and_words_are_to_be_seen_also_without_colour(written: Path, opened: Browser, width: int) -> None:
    opened.open(written, width=width)
    opened.see_without_colour()
    plots = boxes(opened, "svg.plot")
    assert len(plots) >= 8
    assert all(plot[2] >= 0.5 * width - 40 and plot[3] >= 14 for plot in plots)
    assert len(boxes(opened, "h2")) >= 6
    ranges = [box for box in plots if box[3] == 28]  # of the places: bad has nothing to show
    assert len(ranges) == 3
    for box in (boxes(opened, "h1")[0], *ranges[1:]):
        picture = opened.look(*box)
        assert len(picture.colours()) > 8, box  # what is blank has one
    assert all(colour[0] == colour[1] == colour[2] for colour in picture.colours()), "grey only"
    patterns = {b"".join(opened.look(*box).rows) for box in boxes(opened, ".legend svg")}
    assert len(patterns) == len(boxes(opened, ".legend svg")) - _same_legends(opened)


def luminance(colour: str) -> float:
    """Return the relative luminance of #rrggbb or #rgb (WCAG 2)."""
    digits = colour.strip().removeprefix("#")
    digits = digits if len(digits) == 6 else "".join(digit * 2 for digit in digits)
    shares = [int(digits[at : at + 2], 16) / 255 for at in (0, 2, 4)]
    red, green, blue = (share / 12.92 if share <= 0.04045 else ((share + 0.055) / 1.055) ** 2.4 for share in shares)
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


def colour(opened: Browser, name: str) -> str:
    found: str = opened.evaluate(f"getComputedStyle(document.documentElement).getPropertyValue('--{name}').trim()")
    return found


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_words_can_be_read_by_day_and_by_night(written: Path, opened: Browser, scheme: str) -> None:
    opened.show(scheme=scheme)
    opened.open(written, width=WIDTHS[0])
    assert (luminance(colour(opened, "paper")) < 0.1) == (scheme == "dark")
    for ink in ("ink", "soft", "accent", "warn", "bad"):
        for paper in ("paper", "card"):
            darker, lighter = sorted((luminance(colour(opened, ink)), luminance(colour(opened, paper))))
            assert (lighter + 0.05) / (darker + 0.05) >= 4.5, (scheme, ink, paper)


def test_paper_is_light_and_has_what_is_folded(written: Path, opened: Browser) -> None:
    opened.show(scheme="dark", media="print")
    opened.open(written, width=794)
    assert opened.evaluate("getComputedStyle(document.body).backgroundColor") == "rgb(255, 255, 255)"
    tables = "JSON.stringify([...document.querySelectorAll('details table')].map(table => table.checkVisibility()))"
    assert json.loads(opened.evaluate(tables)) == [True] * 4
    opened.show()
    opened.open(written, width=794)
    assert json.loads(opened.evaluate(tables)) == [False] * 4


def test_a_certificate_is_not_squeezed_on_a_telephone(written: Path, opened: Browser) -> None:
    opened.open(written, width=WIDTHS[0])
    cells = boxes(opened, ".certificates td")
    assert len(cells) == 3
    assert all(cell[2] >= 300 for cell in cells)


def _same_legends(opened: Browser) -> int:
    """Each place has its legend of phases; the same phase looks the same in each."""
    words: list[str] = json.loads(
        opened.evaluate("JSON.stringify([...document.querySelectorAll('.legend .key')].map(key => key.innerText))")
    )
    return len(words) - len(set(words))
