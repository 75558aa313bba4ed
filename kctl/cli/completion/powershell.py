"""Completion script for PowerShell 5.1 and newer. No test executes it."""

from kctl.cli.command_tree import Option
from kctl.cli.completion.places import LISTS, NAMES_NOTE, CommandSpec, Offer, offer_of, options_with_values, short

_HEAD = (
    r"""# kctl completion for PowerShell. Made by tools/write_manuals.py from the commands. Do not edit.
"""
    + NAMES_NOTE
)

_BODY = r"""
Register-ArgumentCompleter -Native -CommandName 'kctl' -ScriptBlock {
    param($wordToComplete, $commandAst, $cursorPosition)

    $elements = @($commandAst.CommandElements | Where-Object { $_.Extent.EndOffset -lt $cursorPosition -or
        ($_.Extent.EndOffset -eq $cursorPosition -and $wordToComplete -eq '') } | ForEach-Object { $_.ToString() })
    $path = ''
    $option = ''
    $count = 0
    for ($i = 1; $i -lt $elements.Count; $i++) {
        $word = $elements[$i]
        $next = ($path + ' ' + $word).Trim()
        if ($option -ne '') { $option = '' }
        elseif ($word.StartsWith('-')) {
            $here = $path.Replace(' ', '.') + ':' + $word
            if (($kctlValued -ccontains $word) -or ($kctlValued -ccontains $here)) { $option = $word }
        }
        elseif ($kctlPlaces.Contains($next)) { $path = $next }
        else { $count++ }
    }

    $place = $kctlPlaces[$path]
    $found = @()
    $offer = $null
    if ($option -ne '') { $offer = $place.Values[$option] }
    elseif ($wordToComplete.StartsWith('-')) { $found = @($place.Options) }
    elseif ($place.Commands.Count -gt 0) { $found = @($place.Commands) }
    elseif ($place.Arguments.Count -gt 0) {
        $offer = $place.Arguments[[Math]::Min($count, $place.Arguments.Count - 1)]
    }
    if ($offer -is [array]) { $found = @($offer | ForEach-Object { ,@($_, $_) }) }
    elseif ($offer -like 'list:*') { $found = @($kctlLists[$offer.Substring(5)] | ForEach-Object { ,@($_, $_) }) }
    elseif ($offer -like 'names:*') {
        $line = $commandAst.ToString()
        $names = @(& $elements[0] __complete $offer.Substring(6) $line 2>$null)
        $found = @($names | ForEach-Object { ,@($_, $_) })
    }
    $found | Where-Object { $_ -and $_[0].StartsWith($wordToComplete) } | ForEach-Object {
        $quoted = [System.Management.Automation.Language.CodeGeneration]::EscapeSingleQuotedStringContent($_[0])
        $text = if ($_[0] -match '^[\w.=:/-]+$') { $_[0] } else { "'$quoted'" }
        [System.Management.Automation.CompletionResult]::new($text, $_[0], 'ParameterValue', $_[1])
    }
}
"""


def powershell_script(places: list[CommandSpec]) -> str:
    lines = [f"$kctlValued = @({_list(options_with_values(places))})", "$kctlLists = @{"]
    lines += [f"    {_quoted(name)} = @({_list(words)})" for name, words in LISTS.items()]
    lines += ["}", "$kctlPlaces = @{"]
    for place in places:
        lines += [f"    {_quoted(place.path)} = @{{"]
        lines += ["        Commands = @(", *(f"            {_pair(*each)}" for each in place.commands), "        )"]
        flags = [(name, short(each.help)) for each in place.options for name in (*each.names, *each.off)]
        lines += ["        Options = @(", *(f"            {_pair(*each)}" for each in flags), "        )"]
        lines += ["        Values = [System.Collections.Hashtable]::new()"]
        lines += [f"        Arguments = @({', '.join(_offer(each) for each in place.arguments)})", "    }"]
    lines += ["}"]
    for place in places:
        lines += [line for option in place.options for line in _values(place.path, option)]
    return _HEAD + "\n" + "\n".join(lines) + "\n" + _BODY


def _values(path: str, option: Option) -> list[str]:
    """Return assignments one by one: hash literals ignore case, but -e and -E can be different options."""
    offered = _offer(offer_of(option))
    if not option.takes_value or offered == "''":
        return []
    return [f"$kctlPlaces[{_quoted(path)}].Values[{_quoted(name)}] = {offered}" for name in option.names]


def _offer(offer: Offer) -> str:
    if offer.words:
        return f"@({_list(offer.words)})"
    if offer.names:
        return _quoted(f"names:{offer.names}")
    return _quoted(f"list:{offer.list}") if offer.list else "''"


def _pair(name: str, text: str) -> str:
    return f",@({_quoted(name)}, {_quoted(text or name)})"


def _list(words: "list[str] | tuple[str, ...]") -> str:
    return ", ".join(_quoted(word) for word in words)


def _quoted(text: str) -> str:
    return "'" + text.replace("'", "''") + "'"
