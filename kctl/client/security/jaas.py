"""Parser of sasl.jaas.config: one login module and its options.

    org.apache.kafka.common.security.plain.PlainLoginModule required username="alice" password="...";

Errors never show the value, because a misquoted password could be anywhere.
"""

import re
from dataclasses import dataclass, field

from kctl.client.errors import ConfigError

_CONTROL_FLAGS = ("required", "requisite", "sufficient", "optional")
_TOKEN = re.compile(
    r"""(?P<blank>\s+|//[^\n]*|/\*.*?\*/)
      | (?P<mark>[=;])
      | "(?P<double>(?:[^"\\\n]|\\.)*)"
      | '(?P<single>(?:[^'\\\n]|\\.)*)'
      | (?P<word>[^\s=;"']+)""",
    re.VERBOSE | re.DOTALL,
)
_ESCAPE = re.compile(r"\\([0-3][0-7]{0,2}|[4-7][0-7]?|.)", re.DOTALL)
_LETTERS = {"a": "\a", "b": "\b", "f": "\f", "n": "\n", "r": "\r", "t": "\t", "v": "\v"}
KEY = "sasl.jaas.config"


@dataclass(frozen=True, slots=True)
class JaasEntry:
    """A login module and its options. The module is the last part of the class name."""

    module: str
    options: dict[str, str] = field(repr=False)

    def require(self, option: str) -> str:
        """Return the value of an option. Raises: ConfigError: the option is empty or missing."""
        value = self.options.get(option, "")
        if not value:
            raise ConfigError(f"{KEY}: {self.module} needs {option}=...", key=KEY)
        return value


@dataclass(frozen=True, slots=True)
class _Token:
    text: str = field(repr=False)
    at: int
    is_mark: bool = False


def read_jaas(text: str) -> JaasEntry:
    """Return the entry of a sasl.jaas.config.

    Raises: ConfigError: the text is invalid; the error has the position, but not the text there.
    Source: Java JaasConfig (a StreamTokenizer). Differs: unquoted values may be numbers or contain punctuation.
    """
    tokens = _tokens(text)
    if len(tokens) < 2 or tokens[0].is_mark or tokens[1].is_mark:
        raise _error('use the form: LoginModuleClass required option="value" ... ;')
    if tokens[1].text.lower() not in _CONTROL_FLAGS:
        raise _error(f"the login module must be followed by one of {', '.join(_CONTROL_FLAGS)}", tokens[1].at)
    options: dict[str, str] = {}
    index = 2
    while index < len(tokens) and not _is(tokens, index, ";"):
        if tokens[index].is_mark or not _is(tokens, index + 1, "="):
            raise _error(f'option {len(options) + 1} is not in the form name="value"', tokens[index].at)
        if index + 2 >= len(tokens) or tokens[index + 2].is_mark:
            raise _error(f"option {len(options) + 1} has no value", tokens[index].at)
        options[tokens[index].text] = tokens[index + 2].text
        index += 3
    if index >= len(tokens):
        raise _error("the value must end with a semicolon")
    if index + 1 < len(tokens):
        raise _error("the value must contain exactly one login module", tokens[index + 1].at)
    return JaasEntry(tokens[0].text.rpartition(".")[2], options)


def _tokens(text: str) -> list[_Token]:
    tokens: list[_Token] = []
    index = 0
    while index < len(text):
        match = _TOKEN.match(text, index)
        if match is None:
            raise _error("the closing quote is missing", index)
        kind, body = match.lastgroup, match[match.lastgroup or 0]
        if kind in ("double", "single"):
            body = _ESCAPE.sub(_unescape, body)
        if kind != "blank":
            tokens.append(_Token(body, index, kind == "mark"))
        index = match.end()
    return tokens


def _unescape(match: re.Match[str]) -> str:
    code = match[1]
    return chr(int(code, 8)) if code[0] in "01234567" else _LETTERS.get(code, code)


def _is(tokens: list[_Token], index: int, mark: str) -> bool:
    return index < len(tokens) and tokens[index].is_mark and tokens[index].text == mark


def _error(why: str, at: int | None = None) -> ConfigError:
    where = "" if at is None else f" at character {at + 1}"
    return ConfigError(f"{KEY}{where}: {why}", key=KEY)
