"""The file of all texts has what users see, and nothing else of the code."""

from pathlib import Path

from tools.manual.texts import texts_of

TEXTS = Path(__file__).parents[1] / "cli" / "texts.txt"
"""As `make generated` checks, what tools/manual/texts.py finds; here every module would be parsed again."""


def test_texts_of_a_module_leave_out_docstrings_and_names() -> None:
    source = '''"""A module docstring."""
NAME = "orders"
HEAD = ("TOPIC", "LAG")
"""A docstring of a constant."""


def show(count: int) -> str:
    """A docstring of a function."""
    return f"{count} records read, none matched {NAME}" + "two words"
'''
    assert texts_of(source) == ["TOPIC", "LAG", "{} records read, none matched {}", "two words"]


def test_each_kind_of_text_is_in_the_file() -> None:
    assert {
        "Print the records of topics.",  # the help of a command
        "Stop at the end offsets as of startup.",  # of an option
        "The port is closed",  # a page of kctl explain
        "check user name, password and mechanism",  # a hint of the client
        "PATTERN",  # what follows an option
        "## kctl groups lag",
    } <= set(TEXTS.read_text(encoding="utf-8").splitlines())
