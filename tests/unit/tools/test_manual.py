"""Manual pages are made from what there is: every command, option, code and limit; the same bytes each time."""

from pathlib import Path

import pytest

from kctl.cli.app import COMMANDS
from kctl.cli.command_tree import read_tree
from kctl.cli.exit_codes import ExitCode
from kctl.cli.explanations.limits import LIMITS
from tools.manual.markdown import write_markdown
from tools.manual.pages import all_pages
from tools.manual.roff import Page, bold, plain, prose

ROOT = Path(__file__).parents[3]
PAGES = all_pages()


def test_there_is_a_page_for_each_command_and_for_what_commands_share() -> None:
    general = {"kctl.1", "kctl-options.7", "kctl-exit-codes.7", "kctl-timeouts.7", "kctl-formats.7"}
    assert set(PAGES) == {f"kctl-{name}.1" for name in COMMANDS} | general
    assert {path.name for path in (ROOT / "man").iterdir()} == set(PAGES)


def test_every_option_is_in_the_page_of_its_command() -> None:
    for command in read_tree().walk():
        page = PAGES[f"{'-'.join(command.path[:2])}.1"]
        for option in command.options:
            for name in (*option.names, *option.off):
                assert bold(name) in page, (command.name, name)


def test_every_code_and_limit_is_in_its_page() -> None:
    assert all(f".SS {plain(f'{int(code)}: {code.text}')}" in PAGES["kctl-exit-codes.7"] for code in ExitCode)
    assert all(bold(limit.name) in PAGES["kctl-timeouts.7"] for limit in LIMITS)


def test_pages_have_no_date_and_no_path_of_this_machine() -> None:
    for name, text in PAGES.items():
        assert str(ROOT) not in text
        assert text.isascii(), name
        assert text.splitlines()[1].split(" ", 3)[3].startswith('"" "kctl '), "an empty date"
    assert all_pages() == PAGES


# --- roff -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "roff"),
    [
        ("-o 'a'", "\\-o \\(aqa\\(aq"),
        ("\\n ~ ^ `", "\\en \\(ti \\(ha \\(ga"),
        (".hidden", "\\&.hidden"),
        ("'quoted", "\\&\\(aqquoted"),
        ("é", "\\[u00E9]"),
    ],
)
def test_nothing_of_a_text_is_taken_for_a_request(text: str, roff: str) -> None:
    assert plain(text) == roff


def test_long_words_may_end_a_line_between_their_parts() -> None:
    assert plain("[!][k:|v:|hk:|hv:]REGEX a|b") == "[!][k:|\\:v:|\\:hk:|\\:hv:]REGEX a|b"


def test_code_and_links_in_prose() -> None:
    assert prose("see `-x` in [a `b`](c.md), **now**") == "see \\fB\\-x\\fR in a \\fBb\\fR, \\fBnow\\fR"
    assert prose(".x") == "\\&.x"


def _written(markdown: str) -> list[str]:
    page = Page("p", 1, "Sum.", "s")
    head = len(page.text().splitlines())
    write_markdown(page, markdown)
    return page.text().splitlines()[head:]


def test_markdown() -> None:
    assert _written("# Title\n\n## Part `x`\n### Sub\nOne\ntwo.\n\n- a\n  b\n- c\n") == [
        ".SH PART X", ".SS Sub", ".PP", "One two.", ".IP \\(bu 2", "a b", ".IP \\(bu 2", "c",
    ]  # fmt: skip
    assert _written("```sh\n.x\n```\n") == [".PP", ".RS 4", ".nf", "\\&.x", ".fi", ".RE"]
    assert _written("| a | b | c |\n|---|---|---|\n| `\\|` | x | y |\n| k | v | |\n") == [
        ".TP", "\\fB|\\fR", "x; c: y", ".TP", "k", "v",
    ]  # fmt: skip


@pytest.mark.parametrize(
    "text", ["> quoted", "![picture](x.svg)", "1. first", "<b>x</b>", "text\n> quoted", "| a |\ntext"]
)
def test_markdown_without_a_counterpart_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match=r"counterpart|not a table"):
        _written(text)
