"""The texts of users: messages, options, helps and explanations, without docstrings and names of code."""

from tools.manual.texts import all_texts, texts_of


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


def test_help_of_a_command_is_a_text_of_its_module() -> None:
    source = '''
@app.command("list")
def list_topics() -> int:
    """List all
    topics.

    Exits with 3 if some are missing.
    """
    return show("no topics found")
'''
    assert texts_of(source) == ["List all topics.", "Exits with 3 if some are missing.", "no topics found"]


def test_each_kind_of_text_is_found() -> None:
    assert {
        "Print records from topics.",  # the help of a command
        "Exit after the last record that existed at startup.",  # of an option
        "The port is closed",  # a page of kctl explain
        "check user name, password, and mechanism",  # a hint of the client
        "PATTERN",  # what follows an option
    } <= {text for texts in all_texts().values() for text in texts}
    assert "kctl groups lag" in all_texts()
