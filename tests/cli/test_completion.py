"""Completion in real shells: keys are typed into bash, zsh and fish, Tab among them; what comes of them is run."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from kctl.client.protocol.api.groups import ListedGroup, ListGroupsResponse
from kctl.client.protocol.framing import encode_response
from kctl.client.protocol.schema import Response
from kctl.sandbox import Sandbox
from tests.cli.groups_scene import commit
from tests.cli.live_shell import SHELLS, LiveShell

PATIENT = {"KCTL_COMPLETION_TIMEOUT_MS": "20000"}
"""For names that must come, however busy this machine is."""


@pytest.fixture(params=SHELLS)
def shell(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[LiveShell]:
    with LiveShell(request.param, tmp_path, PATIENT) as live:
        yield live


def test_commands_options_and_their_words_without_starting_kctl(shell: LiveShell) -> None:
    (shell.folder / "records.txt").touch()
    for keys, words in (
        ("kctl cons\tt", ["consume", "t"]),
        ("kctl groups res\tg", ["groups", "reset-offsets", "g"]),
        ("kctl bench end\t-n 5", ["bench", "end-to-end", "-n", "5"]),
        ("kctl consume t --follow --idle\t5s", ["consume", "t", "--follow", "--idle-timeout", "5s"]),
        ("kctl consume -n 5 t --output js\t", ["consume", "-n", "5", "t", "--output", "jsonl"]),
        ("kctl topics list --output=jsonl --trace-f\tx", ["topics", "list", "--output", "jsonl", "--trace-file", "x"]),
        ("kctl produce t --acks=al\t", ["produce", "t", "--acks", "all"]),
        ("kctl probe -b h:1 --security-protocol SASL_S\t", ["probe", "-b", "h:1", "--security-protocol", "SASL_SSL"]),
        ("kctl consume t -X isol\tread_committed", ["consume", "t", "-X", "isolation.level=read_committed"]),
        ("kctl explain COORDINATOR_NOT_A\t", ["explain", "COORDINATOR_NOT_AVAILABLE"]),
        ("kctl consume t --command-config rec\t", ["consume", "t", "--command-config", "records.txt"]),
        ("kctl produce t rec\t", ["produce", "t", "records.txt"]),
    ):
        given = [part for word in shell.run(keys) for part in (word.split("=", 1) if word[:2] == "--" else [word])]
        assert given == words, keys
    assert shell.lookups == []


def test_tab_with_several_matches_lists_them(shell: LiveShell) -> None:
    shell.press("kctl groups d\t\t\t")
    shell.see("describe", "delete-offsets")


def test_names_of_the_cluster(shell: LiveShell, bootstrap: str, topic: str) -> None:
    odd = f"{topic} $(touch ran) 'q'"
    commit(bootstrap, odd, {(topic, 0): 1})
    start = f"kctl groups lag -b {bootstrap}"
    assert shell.run(f"kctl consume -b {bootstrap} {topic[:-1]}\t -e") == ["consume", "-b", bootstrap, topic, "-e"]
    assert shell.run(f"{start} g --topic {topic[:-1]}\t")[-2:] == ["--topic", topic]
    assert shell.run(f"{start} {topic[:-1]}\t") == ["groups", "lag", "-b", bootstrap, odd]
    assert len(shell.lookups) == 3
    assert not (shell.folder / "ran").exists()


RUN = "touch ran"
HOSTILE = (
    f"$({RUN})", f"`{RUN}`", f";{RUN};", f"&{RUN}&", f"|{RUN}", f">{RUN}", f"<({RUN})", f"(e:{RUN}:)", "=ls",
    "a~root", "$HOME", "${HOME}", "!!", "!-1", "#comment", "*", "?", "[a]", "{a,b}", "^a^b", "'q", '"q', "\\q", "a b",
    "%1", "@(a)", "a:b[c]", "(", ")", "a\u0301",
)  # fmt: skip
"""Names of groups that a shell would take for something else."""
UNPRINTABLE = (
    "red\x1b[31m",
    "two\nlines",
    "tab\tbed",
    "\u202eback",
    "--execute",
    "-x",
    "nul\x00",
    "\x7f",
    "\x9b2J",
    "",
    "~root",
    "~",
)
"""Names that are not offered."""


@pytest.mark.slow
def test_names_of_a_hostile_cluster_are_words_and_nothing_else(
    shell: LiveShell, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The broker lists one group with a hostile name among groups whose names are not offered."""
    listed: list[str] = []

    def encode(response: Response, version: int, correlation_id: int) -> bytes:
        if isinstance(response, ListGroupsResponse):
            names = [*UNPRINTABLE, *listed]
            response.groups = [ListedGroup(group_id=name, protocol_type="consumer") for name in names]
        return encode_response(response, version, correlation_id)

    monkeypatch.setattr("kctl.sandbox.connection.encode_response", encode)
    with Sandbox(nodes=1, topics={"t": 1}).serve() as served:
        for number, name in enumerate(HOSTILE):
            listed[:] = [name]
            start = f"kctl groups describe -b {served.bootstrap} -X client.id=c{number} "
            assert "|".join(shell.run(f"{start}\t")).endswith(f"|{name}"), name
    assert not (shell.folder / "ran").exists()
    assert len(shell.lookups) >= len(HOSTILE)


@pytest.mark.parametrize("name", SHELLS)
def test_a_dead_broker_leaves_the_line_as_it_is(name: str, tmp_path: Path, silent: str) -> None:
    with LiveShell(name, tmp_path) as shell:
        shell.press(f"kctl consume -b {silent} or\tders\n")
        assert shell.arguments() == ["consume", "-b", silent, "orders"]
        assert len(shell.lookups) == 1
