"""`kctl completion install`: the right file in the right place, whole, and over nobody else's."""

from pathlib import Path

import pytest

from kctl.cli.completion.install import write_script
from kctl.cli.completion.scripts import script
from kctl.cli.completion.shells import Shell, place_of, shell_of
from kctl.cli.exit_codes import ExitCode
from tests.support.in_process import run_in_process


@pytest.mark.parametrize("shell", Shell)
def test_the_script_is_printed(shell: Shell) -> None:
    assert run_in_process("completion", shell.value).stdout.decode() == script(shell)


@pytest.mark.parametrize(
    ("shell", "path", "line"),
    [
        (
            "bash",
            ".local/share/bash-completion/completions/kctl",
            "add this line to ~/.bashrc if the file does not contain it: source ~/.local/share/bash",
        ),
        (
            "zsh",
            ".local/share/zsh/site-functions/_kctl",
            "add this line to ~/.zshrc, before compinit if the file does not contain it: fpath=(~/.local/share/zsh",
        ),
        ("fish", ".config/fish/completions/kctl.fish", ""),
        (
            "powershell",
            ".config/powershell/kctl.ps1",
            "add this line to $PROFILE if the file does not contain it: . ~/.config/powershell/kctl.ps1",
        ),
    ],
)
def test_completion_is_written_where_the_shell_looks(shell: str, path: str, line: str, tmp_path: Path) -> None:
    ended = run_in_process("completion", "install", shell, environ={"HOME": str(tmp_path)})
    assert (ended.code, ended.stdout) == (ExitCode.OK, b"")
    assert (tmp_path / path).read_text() == script(Shell(shell))
    assert [each.name for each in (tmp_path / path).parent.iterdir()] == [Path(path).name]
    assert line in ended.stderr
    assert ("hint:" in ended.stderr) is bool(line)
    again = run_in_process("completion", "install", shell, "-q", environ={"HOME": str(tmp_path)})
    assert (again.code, again.stderr) == (ExitCode.OK, "")


def test_the_shell_is_the_one_of_the_variable(tmp_path: Path) -> None:
    environ = {"HOME": str(tmp_path), "SHELL": "/usr/bin/fish"}
    assert run_in_process("completion", "install", environ=environ).code == ExitCode.OK
    assert (tmp_path / ".config/fish/completions/kctl.fish").exists()
    unknown = run_in_process("completion", "install", environ={"HOME": str(tmp_path), "SHELL": "/bin/tcsh"})
    assert unknown.code == ExitCode.USAGE
    assert "choose one of bash, zsh, fish, powershell" in unknown.stderr
    assert shell_of({}) is None


def test_folders_of_xdg() -> None:
    environ = {"HOME": "/h", "XDG_DATA_HOME": "/d", "XDG_CONFIG_HOME": "relative", "BASH_COMPLETION_USER_DIR": "/b"}
    found = {shell: place_of(shell, environ) for shell in Shell}
    assert [str(each.path) for each in found.values() if each is not None] == [
        "/b/completions/kctl",
        "/d/zsh/site-functions/_kctl",
        "/h/.config/fish/completions/kctl.fish",
        "/h/.config/powershell/kctl.ps1",
    ]


def test_no_home() -> None:
    ended = run_in_process("completion", "install", "zsh")
    assert ended.code == ExitCode.USAGE
    assert "$HOME is not set" in ended.stderr
    assert "kctl completion zsh > FILE" in ended.stderr


def test_somebody_elses_file_stays(tmp_path: Path) -> None:
    path = tmp_path / ".config/fish/completions/kctl.fish"
    path.parent.mkdir(parents=True)
    path.write_text("complete -c kctl -a mine\n")
    refused = run_in_process("completion", "install", "fish", environ={"HOME": str(tmp_path)})
    assert refused.code == ExitCode.USAGE
    assert f"{path} already exists, and kctl did not write it" in refused.stderr
    assert path.read_text() == "complete -c kctl -a mine\n"
    assert run_in_process("completion", "install", "fish", "--force", environ={"HOME": str(tmp_path)}).code == 0
    assert path.read_text() == script(Shell.FISH)


def test_failed_write_leaves_the_earlier_completion(tmp_path: Path) -> None:
    (tmp_path / "taken").write_text("a file where a folder should be")
    ended = run_in_process(
        "completion", "install", "fish", environ={"HOME": str(tmp_path), "XDG_CONFIG_HOME": f"{tmp_path}/taken"}
    )
    assert ended.code == ExitCode.USAGE
    assert "cannot write" in ended.stderr
    target = tmp_path / "kctl"
    target.write_text("old Made by")
    with pytest.raises(UnicodeEncodeError):
        write_script(target, "new \ud800", "Made by")
    assert target.read_text() == "old Made by"
    assert {each.name for each in tmp_path.iterdir()} == {"taken", "kctl"}
