"""docs/ as a site: it is built, and every link and anchor of every page leads somewhere."""

import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.docs.pages import ROOT
from tests.support.bounds import bound
from tools.site_pages import PAGES

BOUND_S = bound(120)


def build(root: Path, out: Path) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-W", "ignore", "-m", "mkdocs", "build", "--strict", "--site-dir", str(out)]
    return subprocess.run(command, cwd=root, capture_output=True, text=True, timeout=BOUND_S, check=False)


def test_the_site_is_built_and_no_link_leads_nowhere(tmp_path: Path) -> None:
    done = build(ROOT, tmp_path / "site")
    assert done.returncode == 0, done.stderr
    pages = [*map(Path, PAGES), *(path.relative_to(ROOT / "docs") for path in (ROOT / "docs").rglob("*.md"))]
    assert [page for page in pages if not (tmp_path / "site" / page).with_suffix(".html").is_file()] == []


@pytest.mark.nightly
def test_a_link_that_leads_nowhere_is_found(tmp_path: Path) -> None:
    shutil.copytree(ROOT / "docs", tmp_path / "docs")
    shutil.copy(ROOT / "mkdocs.yml", tmp_path)
    (tmp_path / "tools").mkdir()
    for name in ("site_pages.py", "api_pages.py", "other_clients.py"):
        shutil.copy(ROOT / "tools" / name, tmp_path / "tools")
    with (tmp_path / "docs" / "bench.md").open("a") as page:
        page.write("\n[nowhere](no-such-page.md), [no anchor](consume.md#no-such-anchor)\n")
    done = build(tmp_path, tmp_path / "site")
    assert done.returncode != 0
    assert "no-such-page.md" in done.stderr
    assert "no-such-anchor" in done.stderr


def test_links_are_named_by_words_and_not_by_files() -> None:
    pages = (ROOT / "docs").rglob("*.md")
    named = {page.name: re.findall(r"\[[\w/-]+\.md\]\(", page.read_text()) for page in pages}
    assert {name: found for name, found in named.items() if found} == {}


def test_every_page_can_be_found() -> None:
    menu = (ROOT / "mkdocs.yml").read_text()
    decisions = ROOT / "docs" / "decisions"
    assert [page.name for page in (ROOT / "docs").glob("*.md") if f" {page.name}\n" not in menu] == []
    listed = (decisions / "index.md").read_text()
    assert [page.name for page in decisions.glob("0*.md") if f"({page.name})" not in listed] == []


@pytest.mark.nightly
def test_site_has_search_colours_and_the_style_of_its_tables(tmp_path: Path) -> None:
    site = tmp_path / "site"
    done = build(ROOT, site)
    assert done.returncode == 0, done.stderr
    style = (site / "site.css").read_text()
    assert "white-space: normal" in style
    page = (site / "library.html").read_text()
    assert 'href="site.css"' in page
    assert 'data-md-color-scheme="slate"' in page, "dark pages"
    assert '<span class="kn">from</span>' in page, "Python has colours"
    assert not re.findall(r'(?:src|href)="https?://[^"]*\.(?:js|css|woff2?)"', page), (
        "nothing is fetched from elsewhere"
    )
    assert "Skip a record" in (site / "search" / "search_index.json").read_text()
