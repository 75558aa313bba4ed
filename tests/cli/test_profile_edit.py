"""`kctl profile edit` with real editors: programs that change a file."""

import os
import pty
import stat
import subprocess
from pathlib import Path

import pytest

from tests.cli.processes import BOUND_S, KCTL, Ended, environment, kctl

OLD = 'current = "p"\n\n# mine\n[profiles.p]\nbootstrap.servers = "a:9092"\n'


class User:
    """Somebody with a file of profiles, and an editor that is a line of sh; $1 is the draft."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.file = root / "kctl" / "config.toml"
        self.file.parent.mkdir()
        self.file.write_text(OLD)

    def editor(self, script: str) -> dict[str, str]:
        path = self.root / "editor"
        path.write_text(f"#!/bin/sh\n{script}\n")
        path.chmod(0o700)
        return {"XDG_CONFIG_HOME": str(self.root), "VISUAL": f"'{path}' --wait", "EDITOR": "false"}

    def edit(self, script: str, *arguments: str) -> Ended:
        return kctl("profile", "edit", *arguments, environ=self.editor(f"shift; {script}"))

    def drafts(self) -> list[Path]:
        return sorted(self.file.parent.glob("draft-*"))


@pytest.fixture
def user(tmp_path: Path) -> User:
    return User(tmp_path)


def test_edited_profile_replaces_the_earlier_one(user: User) -> None:
    ended = user.edit('stat -c %a "$1" >"$(dirname "$0")/mode"; sed -i s/9092/9093/ "$1"; echo "# more" >>"$1"')
    assert (ended.code, ended.stdout) == (0, b"")
    assert user.file.read_text() == OLD.replace("9092", "9093") + "# more\n"
    assert stat.S_IMODE(user.file.stat().st_mode) == 0o600
    assert (user.root / "mode").read_text() == "600\n", "the draft is as private as the file"
    assert user.drafts() == []


def test_nothing_changed(user: User) -> None:
    ended = user.edit("true", "p")
    assert (ended.code, ended.stderr) == (0, "kctl profile: nothing was changed\n")
    assert user.drafts() == []


@pytest.mark.parametrize(
    ("script", "said"),
    [
        ('echo "x = [" >>"$1"', "line 7, column 1: "),
        ('sed -i s/bootstrap.servers/bootstrap.server/ "$1"', "did you mean bootstrap.servers?"),
        ('echo \'request.timeout.ms = "soon"\' >>"$1"', "invalid request.timeout.ms 'soon': use an integer"),
        (
            'echo "# other" >>"$(dirname "$1")/config.toml"; echo "# mine" >>"$1"',
            "another process changed the file",
        ),
        ('echo "# more" >>"$1"; exit 3', "the editor exited with code 3"),
    ],
)
def test_invalid_edit_is_kept_as_a_draft(user: User, script: str, said: str) -> None:
    ended = user.edit(script)
    assert ended.code == 2
    assert said in ended.stderr
    assert "Traceback" not in ended.stderr
    assert user.file.read_text().removesuffix("# other\n") == OLD
    (draft,) = user.drafts()
    assert str(draft) in ended.stderr
    assert draft.read_text() != OLD


@pytest.mark.parametrize(
    ("script", "reason"),
    [
        ('rm "$1"', "the editor deleted it"),
        ('rm "$1"; mkdir "$1"', "Is a directory"),
        ('rm "$1"; mkfifo "$1"', "the file is a pipe without a writer"),
    ],
)
def test_draft_that_the_editor_removed_or_replaced_is_an_error(user: User, script: str, reason: str) -> None:
    ended = user.edit(script)
    assert ended.code == 2
    assert ended.stderr.startswith(f"kctl profile: cannot read {user.file.parent}/draft-")
    assert ended.stderr.endswith(f": {reason}\n")
    assert user.file.read_text() == OLD


def test_a_broken_file_can_be_mended(user: User) -> None:
    user.file.write_text("[profiles.p\n")
    ended = user.edit('sed -i "s/p$/p]/" "$1"', "p")
    assert ended.code == 0, ended
    assert user.file.read_text() == "[profiles.p]\n"


def test_a_first_file_begins_with_an_example(user: User) -> None:
    user.file.unlink()
    assert user.edit('sed -i "s/^# //" "$1"; sed -i "1d" "$1"').code == 0
    assert b"me" in kctl("profile", "show", environ={"XDG_CONFIG_HOME": str(user.root)}).stdout


def test_editors_that_are_not_there(user: User) -> None:
    for editor in ("/none/editor", "'"):
        ended = kctl("profile", "edit", environ={"XDG_CONFIG_HOME": str(user.root), "VISUAL": editor})
        assert (ended.code, "cannot run editor" in ended.stderr) == (2, True)
        assert user.drafts() == []


def test_on_a_terminal_it_asks_whether_to_go_on(user: User) -> None:
    environ = user.editor(
        'shift; if grep -q broken "$1"; then sed -i /broken/d "$1"; echo "# good" >>"$1"; else echo broken >>"$1"; fi'
    )
    ours, theirs = pty.openpty()
    process = subprocess.Popen(
        [*KCTL, "profile", "edit"], stdin=theirs, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
        env=environment(environ),
    )  # fmt: skip
    os.close(theirs)
    os.write(ours, b"y\n")
    _, said = process.communicate(timeout=BOUND_S)
    os.close(ours)
    assert (process.returncode, b"Edit again?" in said) == (0, True), said
    assert user.file.read_text() == OLD + "# good\n"
