"""Findings as text and objects."""

from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

from kctl.cli.formats.columns import READABLE, columns_of, wrapped
from kctl.cli.formats.listing import Listing, write_lines, write_listing
from kctl.cli.formats.rows import Paint, Row
from kctl.cli.options import Common
from kctl.cli.output_options import Output
from kctl.client.clock import duration_text
from kctl.client.wording import counted, listed, one_line
from kctl.why import Diagnosis, Evidence, Finding, Looks
from kctl.why.diagnosis import Unchecked
from kctl.why.table import FINDINGS

COLUMNS = ("id", "severity", "subject", "sentence", "leads_to", "show", "cure")
MOST_LISTED = 5
"""Maximum number of failed requests to list; further ones are counted."""
MOST_ALIKE, MOST_IDS, MOST_SUBJECTS = 5, 10, 3
"""Maximum findings of one ID after the first, IDs in the final list, and subjects of an ID in that list."""
MOST_LINES = 60
"""Maximum lines of a table without -v; the last findings are shortened."""


def write_diagnosis(common: Common, output: Output, subject: str, looks: Looks, diagnosis: Diagnosis) -> None:
    """Write findings and failed checks to stdout. Except for tables, failed checks are also written to stderr."""
    if output is Output.TABLE:
        paint = None
        if common.environment.colour:
            from kctl.cli.view.tables import painted  # rich: wanted on a terminal

            paint = painted
        width, verbose = common.environment.table_width, common.verbose
        write_lines(common.environment, _lines(subject, looks, diagnosis, width, paint, verbose=verbose))
        return
    facts: dict[str, object] = {"about": subject, "wall_ms": looks.now.wall_ms, "complete": not diagnosis.unchecked}
    if output in (Output.JSON, Output.YAML):
        facts |= {
            "requests": looks.now.requests + (0 if looks.before is None else looks.before.requests),
            "checked": list(diagnosis.checked),
            "unchecked": [unchecked_object(each) for each in diagnosis.unchecked],
            "needs_samples": list(diagnosis.needs_samples),
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
    """Return a finding for programs (docs/schemas/why.v1.json)."""
    return {**_row(finding), "evidence": [_evidence_object(each) for each in finding.evidence]}


def unchecked_object(unchecked: Unchecked) -> dict[str, object]:
    gap = unchecked.gap
    return {
        "request": gap.request,
        "of": gap.of,
        "reason": gap.reason,
        "right": gap.right,
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


# --- for people -------------------------------------------------------------------------------------------------------


def _lines(
    subject: str,
    looks: Looks,
    diagnosis: Diagnosis,
    width: int | None,
    paint: Paint | None = None,
    *,
    verbose: bool = False,
) -> Iterator[str]:
    width = min(width or READABLE, READABLE)
    by_id: dict[str, list[Finding]] = {}
    for finding in diagnosis.findings:
        by_id.setdefault(finding.id, []).append(finding)
    end = list(_end_lines(subject, looks, diagnosis, by_id, width, paint, verbose=verbose))
    blocks = [_block(found, width, paint) for found in by_id.values()]
    shortened = 0 if verbose else _shortened(blocks, MOST_LINES - len(end) - 2)
    whole = len(blocks) - shortened
    for block in blocks[:whole]:
        yield from block.full
        yield ""
    for block in blocks[whole:]:
        yield from block.short
    if shortened:
        yield "Add -v to print all findings in full."
        yield ""
    yield from end


class _Block(NamedTuple):
    """Lines of the findings with one ID. The short form has only the first finding, with its fix."""

    full: list[str]
    short: list[str]


def _block(found: Sequence[Finding], width: int, paint: Paint | None) -> _Block:
    first, *others = found
    head, fix = _head_lines(first, width, paint), _fix_lines(first, width)
    full = [*head, *_detail_lines(first, width), *fix]
    for other in others[:MOST_ALIKE]:
        full += _wrapped(f"{other.subject}: {other.sentence}", width, "  also:     ")
    if len(others) > MOST_ALIKE:
        full.append(f"  also:     {len(others) - MOST_ALIKE} more. List all with --output json")
    return _Block(full, [*head, *fix])


def _shortened(blocks: Sequence[_Block], room: int) -> int:
    lines, shortened = sum(len(block.full) + 1 for block in blocks), 0
    while lines > room and shortened < len(blocks) - 1:
        shortened += 1
        block = blocks[-shortened]
        lines -= len(block.full) + 1 - len(block.short)
    return shortened


def _end_lines(
    subject: str,
    looks: Looks,
    diagnosis: Diagnosis,
    by_id: Mapping[str, list[Finding]],
    width: int,
    paint: Paint | None,
    *,
    verbose: bool,
) -> Iterator[str]:
    requests = looks.now.requests + (0 if looks.before is None else looks.before.requests)
    if verbose and diagnosis.checked:
        yield from _wrapped(f"checked: {', '.join(diagnosis.checked)}", width)
    for line in _unchecked_lines(diagnosis):
        yield from _wrapped(line, width)
    if diagnosis.needs_samples:
        yield from _wrapped(_skipped_checks(diagnosis.needs_samples, verbose=verbose), width)
    yield from _wrapped(_summary(subject, diagnosis, requests), width)
    if len(by_id) > 1:
        yield from _list_of_ids(by_id, width, paint)


def _skipped_checks(ids: Sequence[str], *, verbose: bool) -> str:
    longest_ms = max(FINDINGS[each].apart_ms for each in ids)
    is_watched = all(FINDINGS[each].apart_ms for each in ids)
    option = f"--interval {duration_text(longest_ms)}" if is_watched else "--samples 2"
    need = f"samples {duration_text(longest_ms)} apart" if is_watched else "two samples"
    names = f": {', '.join(ids)}" if verbose else ""
    return f"skipped {counted(len(ids), 'check')} requiring {need} (add {option}){names}"


def _summary(subject: str, diagnosis: Diagnosis, requests: int) -> str:
    cost = counted(requests, "request")
    if diagnosis.findings:
        return f"{counted(len(diagnosis.findings), 'finding')} for {subject} ({cost})"
    if not diagnosis.checked:
        return f"cannot check {subject}: no check received all responses ({cost})"
    incomplete = ", but some checks are incomplete" if diagnosis.unchecked else ""
    return f"no problems found in {subject}{incomplete} ({counted(len(diagnosis.checked), 'check')}, {cost})"


def _list_of_ids(by_id: Mapping[str, list[Finding]], width: int, paint: Paint | None) -> Iterator[str]:
    longest = max(map(len, by_id))
    for name, found in list(by_id.items())[:MOST_IDS]:
        severity = found[0].severity.value
        head = f"  {severity.upper():<7}  {name:<{longest}}  "
        text = _listed_within([one_line(each.subject) for each in found], width - len(head))
        lines = [head + text]
        if columns_of(lines[0]) > width:
            lines = [head.rstrip(), *wrapped(text, width, "    ", "    ")]
        if paint is not None:
            lines[0] = lines[0].replace(severity.upper(), paint("level", severity, severity.upper()), 1)
        yield from lines
    if len(by_id) > MOST_IDS:
        yield f"  and {counted(len(by_id) - MOST_IDS, 'more kind')}"


def _listed_within(subjects: Sequence[str], room: int) -> str:
    for count in range(min(MOST_SUBJECTS, len(subjects)), 0, -1):
        text = listed(subjects, count)
        if columns_of(text) <= room:
            return text
    return subjects[0] if len(subjects) == 1 else counted(len(subjects), "finding")


def _head_lines(finding: Finding, width: int, paint: Paint | None) -> list[str]:
    lines = _wrapped(f"{finding.severity.value.upper()} {finding.id}: {finding.subject}", width)
    return lines if paint is None else [paint("level", finding.severity.value, line) for line in lines]


def _detail_lines(finding: Finding, width: int) -> Iterator[str]:
    yield from _wrapped(finding.sentence, width, "  ", "  ")
    yield from _wrapped(finding.leads_to, width, "  impact:   ")
    for evidence in finding.evidence:
        text = f"{evidence.request}, {evidence.of}: {_values(evidence.values)}"
        yield from _wrapped(text, width, "  evidence: ")
    yield f"  show:     {one_line(finding.show)}"


def _fix_lines(finding: Finding, width: int) -> list[str]:
    """Return the lines of the fix. A command stays on one line, for copying."""
    if finding.cure.startswith("kctl "):
        return [f"  fix:      {one_line(finding.cure)}"]
    return _wrapped(finding.cure, width, "  fix:      ")


def _values(values: Mapping[str, object]) -> str:
    return ", ".join(f"{name}={'none' if value is None else value}" for name, value in values.items())


def _unchecked_lines(diagnosis: Diagnosis) -> Iterator[str]:
    """Yield a line for each reason of failed checks. Findings appear only once."""
    by_reason: dict[str, list[Unchecked]] = {}
    for unchecked in diagnosis.unchecked:
        gap = unchecked.gap
        reason = gap.reason if gap.right is None or gap.error is None else f"permission {gap.right} is missing"
        by_reason.setdefault(reason, []).append(unchecked)
    named: dict[str, None] = {}
    for reason, several in list(by_reason.items())[:MOST_LISTED]:
        ids = [name for name in dict.fromkeys(name for each in several for name in each.ids) if name not in named]
        named.update(dict.fromkeys(ids))
        what = f"not fully checked: {listed(ids, MOST_LISTED)}. No result: " if ids else "no result: "
        requests = dict.fromkeys(f"{each.gap.request} ({each.gap.of})" for each in several)
        yield f"{what}{listed(requests, MOST_LISTED)}: {reason}"
    more_requests = sum(len(several) for several in list(by_reason.values())[MOST_LISTED:])
    if more_requests:
        yield f"not checked: {counted(more_requests, 'more request')} without a response"


def _wrapped(text: str, width: int, first: str = "", further: str | None = None) -> list[str]:
    return wrapped(one_line(text), width, first, " " * len(first) if further is None else further)
