"""The site in a browser: what its pages show in light and dark, in search and on a phone, and pictures of that.

The pictures are kept in docs/pictures, and what is kept looks like what is shown; fonts may differ. Skipped without
Chromium.
After a wanted change: `KCTL_STORE_PICTURES=1 python -m pytest tests/docs/test_site_pictures.py`, then look at them.
"""

import base64
import functools
import http.server
import os
import threading
from collections.abc import Iterator
from typing import NamedTuple

import pytest

from tests.docs.browser import PATH, WHY_NOT, Browser
from tests.docs.pages import ROOT
from tests.docs.test_pictures import PICTURES
from tests.docs.test_site import build

pytestmark = [pytest.mark.skipif(PATH is None, reason=WHY_NOT), pytest.mark.nightly]

LARGEST_BYTES = 150_000
MOST_DIFFERENT = 12
"""Mean difference of brightness, of 255, between a kept picture and the page, both in COARSE squares."""
COARSE = (32, 20)
PHONE, DESK = (390, 800), (1280, 800)
FOUND = "document.querySelectorAll('.md-search-result__item').length > 0"
_GREYS = """(async (data) => {
    const picture = await createImageBitmap(await (await fetch('data:image/webp;base64,' + data)).blob());
    const canvas = new OffscreenCanvas(%d, %d), to = canvas.getContext('2d');
    to.imageSmoothingQuality = 'high';
    to.drawImage(picture, 0, 0, canvas.width, canvas.height);
    const greys = [], pixels = to.getImageData(0, 0, canvas.width, canvas.height).data;
    for (let at = 0; at < pixels.length; at += 4) greys.push((pixels[at] + pixels[at + 1] + pixels[at + 2]) / 3);
    return {size: [picture.width, picture.height], greys};
})('%s')"""


class View(NamedTuple):
    """A page as somebody sees it, and text that is visible there."""

    page: str
    size: tuple[int, int]
    texts: tuple[str, ...]
    dark: bool = False
    condition: str = "true"


VIEWS = {
    "site-light": View("index.html", DESK, ("A command-line tool and Python client", "Cookbook", "Tasks")),
    "site-dark": View("index.html", DESK, ("A command-line tool and Python client", "Cookbook"), dark=True),
    "site-search": View("index.html?q=poison", DESK, ("matching document", "poison-record"), condition=FOUND),
    "site-phone": View("index.html#tasks", PHONE, ("find out why clients cannot connect", "send records from files")),
}
VISIBLE = """[...document.querySelectorAll('h1, h2, p, th, td, li, a, .md-search-result__meta')].filter((each) => {
    const box = each.getBoundingClientRect();
    return box.width > 0 && box.top < innerHeight && box.bottom > 0;
}).map((each) => each.innerText).join('\\n')"""


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """Return the address of the site on loopback: search needs a server."""
    folder = tmp_path_factory.mktemp("site")
    done = build(ROOT, folder)
    assert done.returncode == 0, done.stderr
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), functools.partial(Quiet, directory=str(folder))) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()
        thread.join()


class Quiet(http.server.SimpleHTTPRequestHandler):
    """Serves files and logs nothing."""

    def log_message(self, format: str, *args: object) -> None:
        pass


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with Browser() as shown:
        yield shown


def greys(browser: Browser, picture: bytes) -> tuple[list[int], list[float]]:
    """Return the size of a picture, and its brightness in coarse squares."""
    found = browser.value(_GREYS % (*COARSE, base64.b64encode(picture).decode()))
    return found["size"], found["greys"]


def difference(one: list[float], other: list[float]) -> float:
    return sum(abs(a - b) for a, b in zip(one, other, strict=True)) / len(one)


@pytest.mark.parametrize("name", VIEWS)
def test_page_shows_its_text_and_its_kept_picture(name: str, site: str, browser: Browser) -> None:
    view = VIEWS[name]
    browser.show(f"{site}/{view.page}", *view.size, dark=view.dark)
    browser.wait(view.condition)
    visible = browser.value(VISIBLE)
    assert [text for text in view.texts if text not in visible] == []
    shown, kept = browser.picture(), PICTURES / f"{name}.webp"
    if os.environ.get("KCTL_STORE_PICTURES"):
        kept.write_bytes(shown)
    assert len(shown) < LARGEST_BYTES
    size, now = greys(browser, shown)
    kept_size, then = greys(browser, kept.read_bytes())
    assert tuple(size) == tuple(kept_size) == view.size
    assert difference(now, then) < MOST_DIFFERENT


def test_comparison_tells_light_from_dark(browser: Browser) -> None:
    browser.show("about:blank", *DESK, dark=False)
    light, dark, search = (
        greys(browser, (PICTURES / f"site-{name}.webp").read_bytes())[1] for name in ("light", "dark", "search")
    )
    assert difference(light, dark) > 5 * MOST_DIFFERENT
    assert difference(light, search) > 2 * MOST_DIFFERENT


def test_no_page_is_wider_than_a_phone(site: str, browser: Browser) -> None:
    wide = {}
    for page in sorted((ROOT / "docs").glob("*.md")):
        browser.show(f"{site}/{page.stem}.html", *PHONE, dark=False)
        found = browser.value(
            "[document.documentElement.scrollWidth,"
            " ...[...document.querySelectorAll('table')].map((each) => Math.ceil(each.getBoundingClientRect().right))]"
        )
        assert browser.value("document.querySelector('h1').innerText")
        if max(found) > PHONE[0]:
            wide[page.name] = max(found)
    assert wide == {}
