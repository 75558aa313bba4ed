"""The scripts have every command and option; that of PowerShell, which nothing here runs, is at least well formed.

What the others do is shown in the shells themselves by tests/cli/test_completion.py.
"""

import re

import pytest

from kctl.cli.completion.places import read_places
from kctl.cli.completion.scripts import script
from kctl.cli.completion.shells import Shell

PLACES = read_places()


@pytest.mark.parametrize("shell", Shell)
def test_every_command_and_option_is_there(shell: Shell) -> None:
    words = set(re.findall(r"[\w-]+", script(shell)))
    bare = shell is Shell.FISH
    for place in PLACES:
        assert {name for name, _ in place.commands} <= words
        names = {name for option in place.options for name in (*option.names, *option.off)}
        assert {name.lstrip("-") if bare else name for name in names} <= words


def test_quotes_and_brackets_of_powershell_are_closed() -> None:
    open_at: list[str] = []
    pairs = {")": "(", "}": "{", "]": "["}
    for line in script(Shell.POWERSHELL).splitlines():
        if line.lstrip().startswith("#"):
            continue
        outside = re.sub(r"'(?:[^']|'')*'|\"[^\"]*\"", "", line)
        assert "'" not in outside, line
        for each in outside:
            if each in pairs.values():
                open_at.append(each)
            elif each in pairs:
                assert open_at.pop() == pairs[each], line
    assert open_at == []


def test_powershell_has_each_command_as_a_place() -> None:
    text = script(Shell.POWERSHELL)
    places = re.findall(r"^    '([^']*)' = @\{$", text, re.MULTILINE)
    assert places == [place.path for place in PLACES]
    offered = re.findall(r"^\$kctlPlaces\['([^']*)'\]\.Values\['([^']*)'\] = ", text, re.MULTILINE)
    assert ("consume", "--output") in offered
    assert ("consume", "--trace") not in offered
    assert len(offered) == len(set(offered))


def test_powershell_escapes_every_kind_of_quotation_mark_that_ends_its_strings() -> None:
    body = script(Shell.POWERSHELL)
    assert "CodeGeneration]::EscapeSingleQuotedStringContent($_[0])" in body
    assert "\"'$quoted'\"" in body
