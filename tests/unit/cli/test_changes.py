"""What commands that change a cluster share: KEY=VALUE, and the question."""

import io

import pytest

from kctl.cli.changes import is_confirmed, read_pairs
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


@pytest.mark.parametrize(("typed", "shown", "is_yes"), [(b"", "\n", False), (b"y", "\n", True), (b"y\n", "", True)])
def test_end_of_input_ends_the_line_of_the_question(typed: bytes, shown: str, is_yes: bool) -> None:
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
    common = Common(environment, Settings({}), None, None, quiet=False, verbose=False)
    assert is_confirmed(common, ["t: 1 partition"], "Delete it?") is is_yes
    assert stderr.getvalue() == f"t: 1 partition\nDelete it? [y/N] {shown}"
