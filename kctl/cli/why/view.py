"""Findings as people and programs read them."""

from collections.abc import Iterator, Mapping

from kctl.cli.formats.columns import READABLE, wrapped
from kctl.cli.formats.listing import Listing, write_lines, write_listing
from kctl.cli.formats.rows import Row
from kctl.cli.options import Common, Output
from kctl.client.clock import duration_text
from kctl.client.errors import AuthorizationError
from kctl.client.wording import counted, listed, one_line
from kctl.why import Diagnosis, Evidence, Finding, Looks
from kctl.why.diagnosis import Unchecked
from kctl.why.table import FINDINGS, missing_right

COLUMNS = ("id", "severity", "subject", "sentence", "leads_to", "show", "cure")
MOST_LISTED = 5
"""Requests without a response that a table names; further ones are counted."""


def write_diagnosis(common: Common, output: Output, subject: str, looks: Looks, diagnosis: Diagnosis) -> None:
    """Write the findings to stdout, and what was not checked: in a table to stdout, else to stderr too."""
    if output is Output.TABLE:
        write_lines(common.environment, _lines(subject, looks, diagnosis, common.environment.table_width))
        return
    facts: dict[str, object] = {"about": subject, "wall_ms": looks.now.wall_ms, "complete": not diagnosis.unchecked}
    if output in (Output.JSON, Output.YAML):
        facts |= {
            "requests": looks.now.requests + (0 if looks.before is None else looks.before.requests),
            "checked": list(diagnosis.checked),
            "unchecked": [unchecked_object(each) for each in diagnosis.unchecked],
            "needs_watch": list(diagnosis.needs_watch),
        }
    listing = Listing(
        "why",
        COLUMNS,
        [_row(finding) for finding in diagnosis.findings],
        facts,
        objects=[finding_object(finding) for finding in diagnosis.findings],
    )
    write_listing(common.environment, output, listing)
    for line in _unchecked_lines(diagnosis):
        common.say(f"{common.environment.program}: {line}")


def finding_object(finding: Finding) -> dict[str, object]:
    """Return a finding for programs; docs/schemas/why.v1.json has its fields."""
    return {**_row(finding), "evidence": [_evidence_object(each) for each in finding.evidence]}


def unchecked_object(unchecked: Unchecked) -> dict[str, object]:
    """Return what could not be checked for programs."""
    gap = unchecked.gap
    return {
        "request": gap.request,
        "of": gap.of,
        "reason": gap.reason,
        "right": _right(unchecked),
        "ids": list(unchecked.ids),
    }


def _row(finding: Finding) -> Row:
    return {
        "id": finding.id,
        "severity": finding.severity.value,
        "subject": finding.subject,
        "sentence": finding.sentence,
        "leads_to": finding.leads_to,
        "show": finding.show,
        "cure": finding.cure,
    }


def _evidence_object(evidence: Evidence) -> dict[str, object]:
    return {"request": evidence.request, "of": evidence.of, "values": dict(evidence.values)}


def _right(unchecked: Unchecked) -> str | None:
    error = unchecked.gap.error
    return missing_right(unchecked.gap.request, error) if isinstance(error, AuthorizationError) else None


# --- for people -------------------------------------------------------------------------------------------------------


def _lines(subject: str, looks: Looks, diagnosis: Diagnosis, width: int | None) -> Iterator[str]:
    width = min(width or READABLE, READABLE)
    for finding in diagnosis.findings:
        yield from _finding_lines(finding, width)
        yield ""
    requests = looks.now.requests + (0 if looks.before is None else looks.before.requests)
    yield from _wrapped(f"{_summary(subject, diagnosis)} by {counted(requests, 'request')}", width)
    if not diagnosis.findings and diagnosis.checked:
        yield from _wrapped(f"checked: {', '.join(diagnosis.checked)}", width)
    for line in _unchecked_lines(diagnosis):
        yield from _wrapped(line, width)
    if diagnosis.needs_watch:
        longer = max(FINDINGS[each].apart_ms for each in diagnosis.needs_watch)
        is_watched = all(FINDINGS[each].apart_ms for each in diagnosis.needs_watch)
        option = f"--interval {duration_text(longer)}" if is_watched else "--watch"
        yield from _wrapped(f"not checked without {option}: {', '.join(diagnosis.needs_watch)}", width)


def _summary(subject: str, diagnosis: Diagnosis) -> str:
    if diagnosis.findings:
        return f"{counted(len(diagnosis.findings), 'finding')} about {subject}"
    if not diagnosis.checked:
        return f"nothing about {subject} could be checked"
    return f"nothing found about {subject}{' in what could be checked,' if diagnosis.unchecked else ''}"


def _finding_lines(finding: Finding, width: int) -> Iterator[str]:
    yield from _wrapped(f"{finding.severity.value.upper()} {finding.id}: {finding.subject}", width)
    yield from _wrapped(finding.sentence, width, "  ", "  ")
    yield from _wrapped(finding.leads_to, width, "  leads to: ")
    for evidence in finding.evidence:
        text = f"{evidence.request}, {evidence.of}: {_values(evidence.values)}"
        yield from _wrapped(text, width, "  evidence: ")
    yield f"  show:     {one_line(finding.show)}"
    if finding.cure.startswith("kctl "):
        yield f"  cure:     {one_line(finding.cure)}"
    else:
        yield from _wrapped(finding.cure, width, "  cure:     ")


def _values(values: Mapping[str, object]) -> str:
    return ", ".join(f"{name}={'none' if value is None else value}" for name, value in values.items())


def _unchecked_lines(diagnosis: Diagnosis) -> Iterator[str]:
    """Yield a line for each reason, so that one broker, one missing right, and each finding is named once."""
    by_reason: dict[str, list[Unchecked]] = {}
    for unchecked in diagnosis.unchecked:
        right = _right(unchecked)
        reason = unchecked.gap.reason if right is None else f"the right {right} is missing"
        by_reason.setdefault(reason, []).append(unchecked)
    named: dict[str, None] = {}
    for reason, several in list(by_reason.items())[:MOST_LISTED]:
        ids = [name for name in dict.fromkeys(name for each in several for name in each.ids) if name not in named]
        named.update(dict.fromkeys(ids))
        what = f"not checked everywhere: {listed(ids, MOST_LISTED)}; " if ids else "not answered: "
        requests = dict.fromkeys(f"{each.gap.request} ({each.gap.of})" for each in several)
        yield f"{what}{listed(requests, MOST_LISTED)}: {reason}"
    more_requests = sum(len(several) for several in list(by_reason.values())[MOST_LISTED:])
    if more_requests:
        yield f"not checked: {counted(more_requests, 'more request')} without a response"


def _wrapped(text: str, width: int, first: str = "", further: str | None = None) -> list[str]:
    return wrapped(one_line(text), width, first, " " * len(first) if further is None else further)
