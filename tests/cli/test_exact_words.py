"""The command lines that runbooks quote, on the sandbox: each has its exit code."""

from pathlib import Path

from tests.cli.access_scene import access
from tests.cli.processes import Ended, kctl
from tests.support.scenarios.exact_words import run_exact_words

__all__ = ["access"]


def test_each_line_of_a_runbook_has_its_exit_code(access: str, tmp_path: Path) -> None:
    def run(*words: str) -> Ended:
        return kctl(*words, "-b", access)

    run_exact_words(run, "runbook", tmp_path)
