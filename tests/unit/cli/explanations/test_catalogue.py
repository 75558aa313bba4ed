"""The catalogue is whole: a page for each code, an end for each fault, a test and an owner for each limit."""

import importlib
import re
from pathlib import Path

import pytest
import typer

from kctl.cli.app import COMMANDS
from kctl.cli.exit_codes import ExitCode
from kctl.cli.explanations.advice import HINTED, broker_hint
from kctl.cli.explanations.broker_causes import BROKER_CAUSES
from kctl.cli.explanations.exit_codes import CODE_PAGES
from kctl.cli.explanations.fault import Fault, matches
from kctl.cli.explanations.faults import FAULTS
from kctl.cli.explanations.limits import LIMITS, Limit
from kctl.cli.limit_names import with_options
from kctl.client.broker_errors import ErrorCode
from kctl.client.config import KINDS
from tools.manual.texts import all_texts

ROOT = Path(__file__).parents[4]


def test_each_exit_code_has_a_page() -> None:
    assert set(CODE_PAGES) == set(ExitCode)
    assert all(page.means for page in CODE_PAGES.values())


def test_the_faults_are_numbered_without_a_gap() -> None:
    assert list(FAULTS) == list(range(1, 54))
    assert len({fault.title for fault in FAULTS.values()}) == len(FAULTS)


@pytest.mark.parametrize("fault", FAULTS.values(), ids=lambda fault: str(fault.number))
def test_each_fault_says_something_and_is_shown_or_says_why_not(fault: Fault) -> None:
    assert fault.title
    assert fault.causes
    assert fault.reason or fault.code is ExitCode.OK
    assert bool(fault.shown_by) != bool(fault.not_shown)
    if fault.shown_by:
        text = (ROOT / fault.shown_by).read_text()
        is_named = re.search(rf"(?<![0-9]){fault.number}(?![0-9])", text) is not None
        assert is_named or not fault.shown_by.startswith("tests/faultlab")


def test_faults_of_connections_have_a_hint() -> None:
    nothing_to_do = [fault.number for fault in FAULTS.values() if fault.number < 34 and not fault.hint]
    assert [number for number in nothing_to_do if FAULTS[number].code is not ExitCode.OK] == [33]


@pytest.mark.parametrize("number", [number for number, fault in FAULTS.items() if fault.hint])
def test_hint_of_a_fault_is_one_that_kctl_prints(number: int) -> None:
    """So that a reworded hint is missed here, and not only by the slow tests of faults."""
    printed = [texts for name, texts in all_texts().items() if not name.startswith("kctl/cli/explanations/")]
    texts = [*(text for each in printed for text in each), *map(broker_hint, HINTED)]
    texts += [page.hint for page in CODE_PAGES.values()]
    assert matches(FAULTS[number].hint, "\n".join(map(with_options, texts)))


@pytest.mark.parametrize(
    ("pattern", "text", "is_match"),
    [
        ("no answer in # ms", "x\nno answer in 12 ms\ny", True),
        ("no answer in # ms", "no answer in some ms", False),
        ("the ... certificate (#)", "the broker's certificate (3)", True),
        ("a...b", "a\nb", False),
        ("(a.b)", "(axb)", False),
    ],
)
def test_patterns(pattern: str, text: str, is_match: bool) -> None:
    assert matches(pattern, text) is is_match


@pytest.mark.parametrize("limit", LIMITS, ids=lambda limit: f"{limit.name}-{limit.kind and limit.kind.KIND}")
def test_each_limit_is_declared_owned_and_shown(limit: Limit) -> None:
    if limit.kind is not None:
        assert limit.name in limit.kind.PROPERTIES
    assert limit.default_text
    assert not limit.default_text.startswith("-")
    assert limit.kind is not None or limit.only, "the kind of client that has this argument"
    module, _, name = limit.owner.rpartition(".")
    assert hasattr(importlib.import_module(module), name)
    file, _, test = limit.test.partition("::")
    assert f"def {test}(" in (ROOT / file).read_text()


def test_each_flag_exists() -> None:
    declared: set[str] = set()
    for name in ("consume", "produce"):
        app: typer.Typer = importlib.import_module(COMMANDS[name].module).app
        for parameter in typer.main.get_command(app).params:
            declared |= set(parameter.opts) if parameter.param_type_name == "option" else set()
    assert {limit.flag for limit in LIMITS if limit.flag} <= declared


def test_no_limit_of_a_config_is_left_out() -> None:
    listed = {limit.name for limit in LIMITS}
    missing = {
        name
        for kind in KINDS
        for name in kind.PROPERTIES
        if "timeout.ms" in name and name not in listed and not name.startswith(("sasl.", "ssl."))
    }
    assert missing == {"session.timeout.ms", "transaction.timeout.ms", "partitioner.availability.timeout.ms"}


def test_causes_are_of_errors_that_are() -> None:
    assert set(BROKER_CAUSES) <= set(ErrorCode.__members__)
    assert all(each.causes and each.try_ for each in BROKER_CAUSES.values())
