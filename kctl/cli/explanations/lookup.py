"""Search for the pages of `kctl explain` that match a name, a number or a log line."""

import inspect
import re
from collections.abc import Callable
from difflib import get_close_matches

from kctl.cli.exit_codes import ExitCode
from kctl.cli.explanations.code_pages import (
    BROKER_CODES,
    all_codes,
    broker_page,
    class_page,
    code_page,
    fault_page,
    pages_by_number,
)
from kctl.cli.explanations.fault import literal_length, place_of
from kctl.cli.explanations.faults import FAULTS
from kctl.cli.explanations.finding_examples import finding_page
from kctl.cli.explanations.limits import LIMITS
from kctl.cli.explanations.messages import MESSAGES
from kctl.cli.explanations.page import Page
from kctl.cli.explanations.probe_findings import PROBE_FINDINGS, probe_finding_page
from kctl.cli.explanations.property_pages import ignored_page, limit_page, property_page
from kctl.cli.explanations.topic_configs import TOPIC_CONFIGS, topic_config_page
from kctl.cli.other_tools import FORMER_EXIT_CODES, FORMER_FINDINGS
from kctl.cli.settings import ENVIRONMENT_PREFIX, KNOWN
from kctl.client import errors
from kctl.client.broker_errors import BY_CODE, ErrorCode
from kctl.client.config import IGNORED, REFUSED
from kctl.why.table import FINDINGS

SHORTEST_PART = 8
"""Minimum length of a text that is searched in the titles of faults."""
LONGEST_TEXT = 2_000
"""Maximum length of a text that is compared with messages."""
_NAME = re.compile(r"\b[A-Z][A-Za-z_]{4,}\b")
_CONSTANT = re.compile(r"[A-Z]+(_[A-Z]+)+")
"""Form of code names."""

_FINDING = re.compile(r"(?:ERROR|WARNING|NOTE)\s+([a-z-]+)")
"""Start of a line of `kctl why` and `kctl doctor`."""
_UNDER_WAY = re.compile(r" yet \((--[a-z-]+) [^()]*\)")
"""Timeout of a connection attempt that outlasts its call."""
_UNREAD = "cannot read all partitions"
"""Text of `consume --tail` before the reasons of partitions."""
_LAST_ERROR = "; last error: "
"""Text before the cause of a timeout."""

FORMER_NAMES = {
    "NOT_LEADER_FOR_PARTITION": ErrorCode.NOT_LEADER_OR_FOLLOWER,
    "GROUP_COORDINATOR_NOT_AVAILABLE": ErrorCode.COORDINATOR_NOT_AVAILABLE,
    "GROUP_LOAD_IN_PROGRESS": ErrorCode.COORDINATOR_LOAD_IN_PROGRESS,
    "NOT_COORDINATOR_FOR_GROUP": ErrorCode.NOT_COORDINATOR,
    "MSG_SIZE_TOO_LARGE": ErrorCode.MESSAGE_TOO_LARGE,
}
"""Broker errors by their names before Kafka 2.6 and in librdkafka."""
_BY_STEM = (
    {name.replace("_", "").lower(): error for name, error in FORMER_NAMES.items()}
    | {error.name.replace("_", "").lower(): error for error in ErrorCode}
    | {kind.__name__.removesuffix("Error").lower(): BROKER_CODES[code] for code, kind in BY_CODE.items()}
)
"""Broker errors by class names of other clients, without the ending."""

ERROR_CLASSES: dict[str, type[errors.KafkaError]] = {
    name: kind
    for name, kind in sorted(vars(errors).items())
    if inspect.isclass(kind) and issubclass(kind, errors.KafkaError)
}


def find_pages(text: str) -> list[Page]:
    """Return the pages that match a text; empty if there are none. A timeout of several clients has several pages."""
    text = text.strip()[:LONGEST_TEXT]
    numbered = pages_by_number(text)
    if numbered is not None:
        return numbered
    line = _FINDING.match(text)
    if line is not None and (found := _finding(line[1])):
        return found
    return _by_name(text) or _by_part(text) or ([] if _CONSTANT.fullmatch(text) else _by_line(text))


def all_pages() -> list[Page]:
    return [
        *all_codes(),
        *(fault_page(fault) for fault in FAULTS.values()),
        *(limit_page(limit) for limit in LIMITS),
        *(property_page(declared) for name, declared in sorted(KNOWN.items()) if name == declared.name),
        *(topic_config_page(name) for name in TOPIC_CONFIGS),
        *(class_page(kind) for kind in ERROR_CLASSES.values()),
        *(broker_page(error) for error in ErrorCode),
        *(finding_page(kind) for kind in FINDINGS.values()),
        *map(probe_finding_page, PROBE_FINDINGS),
    ]


MOST_NEAREST = 5
SHORT = 4
"""Maximum length of texts without similar names."""


def nearest(text: str) -> list[str]:
    """Return names similar to an unknown text, of which names that contain its words are first."""
    named = {name.lower(): name for name in _names()}
    close = get_close_matches(text.lower()[:100], named, n=3, cutoff=0.5) if len(text) > SHORT else []
    return list(dict.fromkeys([*_having(text), *(named[found] for found in close)]))[:MOST_NEAREST]


def _names() -> list[str]:
    codes = [code.name for code in ExitCode] + [code.name for code in ErrorCode]
    names = (*FINDINGS, *PROBE_FINDINGS, *ERROR_CLASSES, *KNOWN, *IGNORED, *TOPIC_CONFIGS)
    return [*codes, *names, *(limit.flag for limit in LIMITS if limit.flag)]


def _by_name(text: str) -> list[Page]:
    name = text.strip("`'\"")
    constant = re.sub(r"[\s-]+", "_", name).upper()
    constant = FORMER_EXIT_CODES.get(constant, constant)
    if constant in ExitCode.__members__:
        return [code_page(ExitCode[constant])]
    code = FORMER_NAMES.get(constant) or ErrorCode.__members__.get(constant)
    if code is not None:
        return [broker_page(code)]
    if found := _finding(name.lower()):
        return found
    own_classes = {own.lower(): kind for own, kind in ERROR_CLASSES.items()}
    if name.lower() in own_classes:
        return [class_page(own_classes[name.lower()])]
    broker_classes = {kind.__name__.lower(): BROKER_CODES[code] for code, kind in BY_CODE.items()}
    if name.lower() in broker_classes:
        return [broker_page(broker_classes[name.lower()])]
    return _by_property(name.lower())


def _finding(name: str) -> list[Page]:
    name = FORMER_FINDINGS.get(name, name)
    if name in FINDINGS:
        return [finding_page(FINDINGS[name])]
    return [probe_finding_page(name)] if name in PROBE_FINDINGS else []


def _having(text: str) -> list[str]:
    """Return the codes that contain the words of `text`, such as NOT_LEADER; the last word may be incomplete.

    A text with fewer than two words matches no code. If `text` is a constant, similar codes match too.
    """
    words = re.sub(r"[\s-]+", "_", text.strip("`'\"")).upper()[:100]
    if "_" not in words.strip("_"):
        return []
    names = dict.fromkeys([*ExitCode.__members__, *ErrorCode.__members__])
    found = [name for name in names if f"_{words}" in f"_{name}"]
    return found or (_nearly_having(words) if _CONSTANT.fullmatch(text) else [])


def _nearly_having(words: str) -> list[str]:
    """Return the code most similar to `words`. Parts of codes and former names are compared too."""
    parts: dict[str, dict[str, None]] = {}
    for name in [*ExitCode.__members__, *ErrorCode.__members__, *FORMER_NAMES]:
        known = FORMER_NAMES[name].name if name in FORMER_NAMES else name
        of_name = name.split("_")
        for count in {len(of_name), min(len(of_name), words.count("_") + 1)}:
            for start in range(len(of_name) - count + 1):
                parts.setdefault("_".join(of_name[start : start + count]), {})[known] = None
    nearest = get_close_matches(words, parts, n=1, cutoff=0.85)
    return list(parts[nearest[0]]) if nearest else []


def _by_part(text: str) -> list[Page]:
    found = _having(text)
    return _by_name(found[0]) if len(found) == 1 else []


def _by_property(name: str) -> list[Page]:
    """Return the pages of a timeout, property, topic config, or variable such as KCTL_LINGER_MS."""
    if name.startswith(ENVIRONMENT_PREFIX.lower()):
        name = name.removeprefix(ENVIRONMENT_PREFIX.lower()).replace("_", ".")
    known = KNOWN[name].name if name in KNOWN else name
    limits = [limit for limit in LIMITS if known in (limit.name, limit.flag, limit.name.partition("(")[0])]
    if limits:
        return [limit_page(limit) for limit in limits]
    if known in KNOWN:
        return [property_page(KNOWN[known]), *map(topic_config_page, {known} & {*TOPIC_CONFIGS})]
    for others, is_refused in ((IGNORED, False), (REFUSED, True)):
        if name in others:
            return [ignored_page(name, others[name], is_refused=is_refused)]
    return [topic_config_page(name)] if name in TOPIC_CONFIGS else []


def _by_line(text: str) -> list[Page]:
    """Return the page of the error in a log line. The last error of the line has precedence."""
    if _UNREAD in text:
        return _by_message(text.partition(_UNREAD)[2]) or [code_page(ExitCode.API_TIMEOUT)]
    return _by_message(text.partition(_LAST_ERROR)[2]) or _by_message(text) or _by_title(text)


def _by_title(text: str) -> list[Page]:
    """Return the page of a fault with the text. Faults that end a command have precedence."""
    about = [fault for fault in FAULTS.values() if text.lower() in f"{fault.title}\n{fault.reason}".lower()]
    about.sort(key=lambda fault: fault.code is ExitCode.OK)
    return [fault_page(about[0])] if about and len(text) >= SHORTEST_PART else []


def _by_message(text: str) -> list[Page]:
    """Return the page of the leftmost message in a line, or of the first error name if there is no message.

    Text to the right of a message is its cause: "broker 1 advertises a:9092: connection refused". If messages start at
    the same place, the more specific has precedence.
    """
    text = _UNDER_WAY.sub(r" within 0s (\1)", text)
    hits: list[tuple[tuple[int, bool, int], Callable[[], list[Page]]]] = []
    for fault in FAULTS.values():
        at = place_of(fault.reason.removeprefix("..."), text) if fault.reason.strip("# .") else None
        if at is not None:
            rank = (-at, fault.code is not ExitCode.OK, literal_length(fault.reason))
            hits.append((rank, lambda fault=fault: [fault_page(fault)]))  # type: ignore[misc]  # bound now
    for message, name in MESSAGES:
        at = place_of(message.lower(), text.lower())
        if at is not None:
            hits.append(((-at, True, literal_length(message)), lambda name=name: find_pages(name)))  # type: ignore[misc]
    if hits:
        return max(hits, key=lambda hit: hit[0])[1]()
    for word in _NAME.findall(text):
        named = _by_error_name(word)
        if named:
            return named
    return []


def _by_error_name(word: str) -> list[Page]:
    """Return the page of an error, given its constant or its class name in kctl or Java."""
    if word in ErrorCode.__members__:
        return [broker_page(ErrorCode[word])]
    if word in FORMER_NAMES:
        return [broker_page(FORMER_NAMES[word])]
    if word in ERROR_CLASSES:
        return [class_page(ERROR_CLASSES[word])]
    stem = re.sub(r"(Exception|Error)$", "", word)
    code = _BY_STEM.get(stem.lower()) if stem != word else None
    return [] if code is None else [broker_page(code)]
