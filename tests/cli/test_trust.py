"""Trust in a project: everything that it runs and reads is listed, and a changed script needs trust again."""

import os
import struct
import subprocess
from pathlib import Path

import pytest

from kctl.cli.exit_codes import ExitCode
from kctl.cli.profiles.allowances import allowances, watched_files
from kctl.cli.profiles.files import Content
from kctl.cli.profiles.project_tree import tree_files
from tests.cli.processes import BOUND_S, KCTL, Ended, environment

SOMEBODY_ELSE = 54321


class Project:
    """A folder with profiles, and a user who works in it."""

    def __init__(self, root: Path) -> None:
        self.folder = root / "project"
        self.folder.mkdir()
        self.file = self.folder / ".kctl.toml"
        self._environ = {"XDG_CONFIG_HOME": str(root / "config"), "HOME": str(root)}

    def kctl(self, *arguments: str, cwd: Path | None = None) -> Ended:
        ended = subprocess.run(
            [*KCTL, *arguments],
            stdin=subprocess.DEVNULL,
            capture_output=True,
            cwd=cwd or self.folder,
            env=environment(self._environ),
            timeout=BOUND_S,
            check=False,
        )
        return Ended(ended.returncode, ended.stdout, ended.stderr.decode())


@pytest.fixture
def project(tmp_path: Path) -> Project:
    return Project(tmp_path)


def write_profile(project: Project, bootstrap: str, key: str, value: str) -> None:
    project.file.write_text(f'current = "p"\n[profiles.p]\nbootstrap.servers = "{bootstrap}"\n{key} = "{value}"\n')
    project.file.chmod(0o600)


def test_trust_lists_every_command_and_file(project: Project, bootstrap: str) -> None:
    write_profile(project, bootstrap, "client.id", "${cmd:sh ./id.sh \\u001b[2J}${file:id.txt}${env:WHO}")
    with project.file.open("a") as file:
        file.write('ssl.truststore.location = "ca.pem"\n')
    told = project.kctl("profile", "trust").stderr
    for line in (r"p runs sh ./id.sh \x1b[2J", "p reads id.txt", "p reads the variable WHO", "p reads ca.pem"):
        assert line in told


@pytest.mark.parametrize(
    ("value", "name"),
    [
        ("${cmd:./id.sh}", "id.sh"),
        ("${cmd:cd . && sh deep/id.sh; true}", "deep/id.sh"),
        ("${cmd:sh id.sh}", "id.sh"),
        ("${file:id.txt}", "id.txt"),
    ],
)
def test_changed_file_of_a_trusted_project_needs_trust_again(
    project: Project, bootstrap: str, value: str, name: str
) -> None:
    used, ran = project.folder / name, project.folder / "ran"
    used.parent.mkdir(exist_ok=True)
    used.write_text("#!/bin/sh\necho me\n")
    used.chmod(0o755)
    write_profile(project, bootstrap, "client.id", value)
    assert project.kctl("profile", "trust").code == 0
    assert project.kctl("topics", "list").code == 0
    used.write_text(f"#!/bin/sh\ntouch {ran}\necho me\n")
    ended = project.kctl("topics", "list")
    assert (ended.code, ended.stdout) == (ExitCode.USAGE, b"")
    assert "a file that it uses is not trusted" in ended.stderr
    assert not ran.exists()
    assert project.kctl("profile", "trust").code == 0
    assert project.kctl("topics", "list").code == 0


def test_file_that_appears_in_a_trusted_project_needs_trust_again(project: Project, bootstrap: str) -> None:
    write_profile(project, bootstrap, "client.id", "${cmd:./id.sh || echo me}")
    assert project.kctl("profile", "trust").code == 0
    assert project.kctl("topics", "list").code == 0
    (project.folder / "id.sh").write_text("#!/bin/sh\necho other\n")
    assert project.kctl("topics", "list").code == ExitCode.USAGE


def test_file_outside_of_the_project_may_change(project: Project, bootstrap: str) -> None:
    outside = project.folder.parent / "id.txt"
    outside.write_text("a")
    write_profile(project, bootstrap, "client.id", "${file:../id.txt}")
    assert project.kctl("profile", "trust").code == 0
    outside.write_text("b")
    assert project.kctl("topics", "list").code == 0


def test_edit_by_kctl_keeps_trust_only_while_the_files_are_those_that_were_trusted(
    project: Project, bootstrap: str
) -> None:
    script = project.folder / "id.sh"
    script.write_text("echo me\n")
    write_profile(project, bootstrap, "client.id", "${cmd:sh id.sh}")
    assert project.kctl("profile", "trust").code == 0
    assert project.kctl("profile", "edit", "p", "-X", "client.rack=a").code == 0
    assert project.kctl("topics", "list").code == 0
    script.write_text("echo other\n")
    project.kctl("profile", "edit", "p", "-X", "client.rack=b")
    assert project.kctl("topics", "list").code == ExitCode.USAGE


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give a file to another user")
def test_project_file_of_another_user_is_ignored_with_a_note(project: Project, bootstrap: str) -> None:
    below = project.folder / "below"
    below.mkdir()
    project.file.write_text("this is no TOML")
    os.chown(project.file, SOMEBODY_ELSE, SOMEBODY_ELSE)
    ended = project.kctl("topics", "list", "-b", bootstrap, cwd=below)
    assert ended.code == 0, ended.stderr
    assert f"note: {project.file} belongs to another user and is ignored" in " ".join(ended.stderr.split())
    refused = project.kctl("profile", "trust", cwd=below)
    assert refused.code == ExitCode.USAGE
    assert "which another user owns" in refused.stderr


@pytest.mark.parametrize(
    "command",
    [
        "cd deep && sh id.sh",
        "sh -c '. ./deep/id.sh'",
        "env -C deep sh id.sh",
        "sh deep/*.sh",
        "sh $PWD/deep/id.sh",
        "make -s id",
        "python deep",
        "./run --file=deep/id.sh",
        "PATH=deep id.sh",
    ],
)
@pytest.mark.parametrize("is_tracked", [False, True], ids=["plain", "git"])
def test_command_that_cannot_be_resolved_watches_the_whole_project(
    tmp_path: Path, command: str, is_tracked: bool
) -> None:
    script = tmp_path / "deep" / "id.sh"
    script.parent.mkdir()
    script.write_text("echo me")
    file = tmp_path / ".kctl.toml"
    if is_tracked:
        write_index(tmp_path, ["deep/id.sh"])
        (tmp_path / "log").write_text("not tracked")
    content = Content(None, {"p": {"sasl.password": f"${{cmd:{command}}}"}})
    root, files, unwatched = watched_files(file, content)
    assert root == tmp_path
    assert script in files
    assert (tmp_path / "log") not in files
    assert unwatched == []


def test_command_with_a_script_watches_that_script_alone(tmp_path: Path) -> None:
    for name in ("pw.sh", "other"):
        (tmp_path / name).write_text("echo me")
    for command in ("./pw.sh prod", "sh -eu pw.sh prod", "pass show kafka/prod"):
        content = Content(None, {"p": {"sasl.password": f"${{cmd:{command}}}"}})
        assert tmp_path / "other" not in watched_files(tmp_path / ".kctl.toml", content).files


def test_project_in_a_directory_of_a_repository_watches_the_repository(tmp_path: Path) -> None:
    write_index(tmp_path, ["bin/pw.sh", "sub/x"])
    script = tmp_path / "bin" / "pw.sh"
    script.parent.mkdir()
    script.write_text("echo me")
    (tmp_path / "sub").mkdir()
    content = Content(None, {"p": {"sasl.password": "${cmd:cd ../bin && ./pw.sh}"}})
    assert script in watched_files(tmp_path / "sub" / ".kctl.toml", content).files


def test_large_project_says_which_command_is_not_watched(
    project: Project, bootstrap: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("kctl.cli.profiles.project_tree.MOST_FILES", 1)
    for name in "abc":
        (project.folder / name).write_text("")
    content = Content(None, {"p": {"client.id": "${cmd:cat $HOME/x}"}})
    assert watched_files(project.file, content).unwatched == ["cat $HOME/x"]


@pytest.mark.parametrize("version", [2, 3, 4])
def test_index_of_git_is_read_as_git_writes_it(tmp_path: Path, version: int) -> None:
    names = ["a", "deep/er/file", "deep/er/other", "x" * 200, "zz"]
    for name in names:
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("")
    for words in (["init", "-q"], ["update-index", f"--index-version={version}"], ["add", "-N", "zz"], ["add", "."]):
        subprocess.run(["git", *words], cwd=tmp_path, check=True, capture_output=True)
    assert tree_files(tmp_path) == sorted(tmp_path / name for name in names)


def test_trust_lists_files_of_logins_and_servers(tmp_path: Path) -> None:
    jaas = 'Krb5LoginModule required useKeyTab=true keyTab="FILE:k.tab" ticketCache="c";'
    profile = {
        "bootstrap.servers": "b:1,c:2",
        "schema.registry.url": "https://user:secret@registry.example",
        "schema.registry.ssl.truststore.location": "r.pem",
        "sasl.oauthbearer.token.endpoint.url": "file:///home/me/private.txt",
        "sasl.jaas.config": jaas,
    }
    told = [str(each) for each in allowances(Content(None, {"p": profile}))]
    assert told == [
        "p connects to b:1,c:2",
        "p connects to https://registry.example",
        "p reads r.pem",
        "p reads /home/me/private.txt",
        "p reads k.tab",
        "p reads c",
    ]


def write_index(folder: Path, names: list[str]) -> None:
    """Write an index of git, version 2."""
    entries = b""
    for name in names:
        entry = bytes(60) + len(name).to_bytes(2, "big") + name.encode()
        entries += entry + bytes(8 - len(entry) % 8)
    (folder / ".git").mkdir()
    (folder / ".git" / "index").write_bytes(b"DIRC" + struct.pack(">II", 2, len(names)) + entries)
