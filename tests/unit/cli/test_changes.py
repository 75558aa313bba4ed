"""What commands that change a cluster share: KEY=VALUE, and the question."""

import io

import pytest

from kctl.cli.changes import Consent, consent_options, is_confirmed, read_pairs
from kctl.cli.click import BadParameter
from kctl.cli.environment import ClosingNotice, Environment, Secrets
from kctl.cli.options import Common
from kctl.cli.settings import Settings
from kctl.client.clock import ManualClock


def test_pairs_keep_what_follows_the_first_equals_sign() -> None:
    assert read_pairs(["a=1", "b=x=y", "c="], "'KEY=VALUE'") == {"a": "1", "b": "x=y", "c": ""}


@pytest.mark.parametrize("texts", [["a"], ["=1"], [""], ["a=1", "a=2"]])
def test_wrong_pair_is_named(texts: list[str]) -> None:
    with pytest.raises(BadParameter):
        read_pairs(texts, "'KEY=VALUE'")


@pytest.mark.parametrize(("execute", "yes"), [(True, False), (False, True), (True, True), (False, False)])
def test_dry_run_wins_over_execute_and_yes(execute: bool, yes: bool) -> None:
    assert consent_options(True, execute, yes) is Consent.DENIED
    assert consent_options(False, execute, yes) is (Consent.GIVEN if execute or yes else Consent.NEEDED)


@pytest.mark.parametrize("consent", [Consent.DENIED, Consent.GIVEN])
def test_terminal_is_asked_only_if_consent_is_open(consent: Consent) -> None:
    common, stderr = on_terminal(b"y\n")
    assert is_confirmed(common, consent, ["t: 1 partition"], "Delete it?") is False
    assert stderr.getvalue() == ""


@pytest.mark.parametrize(("typed", "shown", "is_yes"), [(b"", "\n", False), (b"y", "\n", True), (b"y\n", "", True)])
def test_end_of_input_ends_the_line_of_the_question(typed: bytes, shown: str, is_yes: bool) -> None:
    common, stderr = on_terminal(typed)
    assert is_confirmed(common, Consent.NEEDED, ["t: 1 partition"], "Delete it?") is is_yes
    assert stderr.getvalue() == f"t: 1 partition\nDelete it? [y/N] {shown}"


def on_terminal(typed: bytes) -> tuple[Common, io.StringIO]:
    """Return a command on a terminal where this is typed, and its stderr."""
    stderr = io.StringIO()
    environment = Environment(
        io.BytesIO(typed),
        io.BytesIO(),
        stderr,
        {},
        ManualClock(),
        closing_notice=ClosingNotice(),
        secrets=Secrets(),
        stdin_is_tty=True,
        stderr_is_tty=True,
    )
    return Common(environment, Settings({}), None, None, quiet=False, verbose=False), stderr
