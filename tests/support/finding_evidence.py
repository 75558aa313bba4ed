"""Check of findings against their evidence: a text names nothing that no request has reported."""

import json
import re

from kctl.why import Finding

_NAMED = re.compile(r"\b(?:brokers? (\d+)|offset ([\d,]+)|epoch (\d+)|((?:__)?[a-z]\w*-\d+))\b")

_WITH_PLACE = re.compile(r"\b(\S+) \((?!fenced\))([^\s():=A-Z]+)\)")
"""A member with its host. Addresses, error codes, and states are no places."""


def unseen_in(text: str, seen: str) -> list[str]:
    """Return the partitions, offsets, epochs, brokers, members and hosts in a text that no request reported."""
    named = [next(filter(None, found)) for found in _NAMED.findall(text)]
    named += [each for pair in _WITH_PLACE.findall(text) for each in pair]
    return [each for each in named if not re.search(rf"(?<![\w-]){re.escape(each.replace(',', ''))}(?!\w)", seen)]


def unseen(finding: Finding) -> list[str]:
    """Return what the sentence of a finding names and its evidence lacks."""
    evidence = [(each.request, each.of, each.values) for each in finding.evidence]
    return unseen_in(finding.sentence, json.dumps([finding.subject, evidence]))
