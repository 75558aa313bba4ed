"""`--csv-safe`: no cell of a record is a formula to a spreadsheet."""

import csv
import io

import pytest

from kctl.cli.exit_codes import ExitCode
from tests.cli.processes import kctl

VALUES = ["=1+1", "+1", "-5", "@x", "\tx", "x=1", "", "'=1", 'say "-"']


def rows(output: bytes) -> list[dict[str, str]]:
    return list(csv.DictReader(io.StringIO(output.decode(), newline="")))


@pytest.fixture
def filled(bootstrap: str, topic: str) -> str:
    lines = "".join(f"{value}\n" for value in VALUES)
    assert kctl("produce", topic, "-p", "0", "-b", bootstrap, "-q", stdin=lines.encode()).code == 0
    assert kctl("produce", topic, "-p", "1", "-K:", "-b", bootstrap, "-q", stdin=b"=key:x\n").code == 0
    return topic


def test_csv_safe_neutralises_formulas_and_nothing_else(bootstrap: str, filled: str) -> None:
    ended = kctl("consume", filled, "-p", "0", "-e", "-b", bootstrap, "--output", "csv", "--csv-safe")
    assert [row["value"] for row in rows(ended.stdout)] == [
        "'=1+1", "'+1", "'-5", "'@x", "'\tx", "x=1", "", "'=1", 'say "-"',
    ]  # fmt: skip
    keyed = kctl("consume", filled, "-p", "1", "-e", "-b", bootstrap, "--output", "csv", "--csv-safe")
    assert [row["key"] for row in rows(keyed.stdout)] == ["'=key"]


def test_csv_without_it_keeps_every_value(bootstrap: str, filled: str) -> None:
    ended = kctl("consume", filled, "-p", "0", "-e", "-b", bootstrap, "--output", "csv")
    assert [row["value"] for row in rows(ended.stdout)] == VALUES


def test_csv_safe_without_csv_is_refused(bootstrap: str) -> None:
    ended = kctl("consume", "t", "-e", "-b", bootstrap, "--csv-safe")
    assert ended.code == ExitCode.USAGE
    assert "--csv-safe needs --output csv" in ended.stderr
