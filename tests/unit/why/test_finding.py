"""Sentences and commands with values in them, whatever names brokers and clients have sent."""

import shlex
import subprocess

import pytest

from kctl.grammar.command_lines import fill_command, quoted
from kctl.why.finding import fill
from kctl.why.table import FINDINGS

HOSTILE = (
    "a; rm -rf /",
    "a b",
    "$(id)",
    "`id`",
    "it's",
    "a\nkctl groups delete b",
    "\x1b]0;x\x07",
    "-x",
    "",
    "\u202egnp",
    "\udcff",
    "\ud800",
)


def test_whole_numbers_have_commas_in_sentences_and_none_in_commands() -> None:
    assert fill("{count} records of {name}", {"count": 1204331, "name": "t"}) == "1,204,331 records of t"
    assert (
        fill_command("kctl consume {name} -o {count}", {"count": 1204331, "name": "t"}) == "kctl consume t -o 1204331"
    )


def test_ids_of_brokers_and_nodes_have_no_commas() -> None:
    assert fill("broker {broker}, {offset}", {"broker": 1001, "offset": 1001}) == "broker 1001, 1,001"


@pytest.mark.parametrize("name", HOSTILE)
def test_hostile_name_stays_one_line_and_one_word(name: str) -> None:
    assert fill("group {group}", {"group": name}).isprintable()
    assert quoted(name).isprintable()
    printed = subprocess.run(["bash", "-c", f"printf %s {quoted(name)}"], capture_output=True, check=True).stdout
    assert printed.decode("utf-8", "surrogatepass" if name == "\ud800" else "surrogateescape") == name


@pytest.mark.parametrize("name", HOSTILE[:5])
def test_command_passes_a_name_on_unchanged(name: str) -> None:
    finding = FINDINGS["group-no-members"].found({"group": name, "waiting": 1, "where": ""}, [])
    assert shlex.split(finding.show) == ["kctl", "groups", "lag", name]


@pytest.mark.parametrize("name", ["--all", "-Xbootstrap.servers=h:9", "-x y\n"])
def test_name_like_an_option_follows_the_options(name: str) -> None:
    command = fill_command(
        "kctl groups reset-offsets {group} --topic {topic}:0 --execute", {"group": name, "topic": "t"}
    )
    assert shlex.split(command)[:-1] == ["kctl", "groups", "reset-offsets", "--topic", "t:0", "--execute", "--"]
    assert subprocess.run(
        ["bash", "-c", f"printf '%s|' {command}"], capture_output=True, check=True
    ).stdout.decode() == (f"kctl|groups|reset-offsets|--topic|t:0|--execute|--|{name}|")
    assert fill_command("kctl groups lag {group}", {"group": "--all"}) == "kctl groups lag -- --all"


def test_braces_in_names_are_no_fields() -> None:
    assert fill("{group}", {"group": "{waiting}"}) == "{waiting}"
    assert fill_command("{group}", {"group": "{0}"}) == "'{0}'"
