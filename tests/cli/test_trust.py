"""Trust in a project: everything that it runs and reads is listed, and a changed script needs trust again."""

import os
import subprocess
from pathlib import Path

import pytest

from kctl.cli.exit_codes import ExitCode
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
    assert "is not trusted, or was changed since" in ended.stderr
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
    assert "belongs to another user" in refused.stderr
