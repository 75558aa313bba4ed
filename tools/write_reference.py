"""Writes docs/exit-codes.md, docs/faults.md and docs/timeouts.md from the catalogue that `kctl explain` reads.

And docs/pipeline-options.md from the table of the data source's options; docs/findings.md and docs/schemas/why.v1.json
from that of the findings of `kctl why`.

python tools/write_reference.py            # writes them
python tools/write_reference.py --check    # exits with 1 when one is out of date
"""

import json
import sys
from pathlib import Path
from typing import Any

from kctl.cli.exit_codes import ExitCode
from kctl.cli.explanations.exit_codes import CODE_PAGES
from kctl.cli.explanations.faults import FAULTS
from kctl.cli.explanations.limits import LIMITS
from kctl.pipeline.source.option_table import OPTIONS
from kctl.why.finding import Severity, is_command, placeholders
from kctl.why.table import FINDINGS, rights_of

DOCS = Path(__file__).parents[1] / "docs"
NOTE = "<!-- Written by tools/write_reference.py from kctl/cli/explanations; edit those. -->"


def exit_codes() -> str:
    """Return docs/exit-codes.md."""
    lines = [
        "# Exit codes",
        NOTE,
        "",
        "One code per cause, so that scripts can distinguish them. When several brokers fail differently the code is "
        "that of the cause that blocked the call, and all causes are listed. `kctl explain CODE` prints the same.",
    ]
    for code in ExitCode:
        page = CODE_PAGES[code]
        lines += ["", f"## {int(code)}: {code.text}", page.means]
        lines += ["", *(f"- {each}" for each in page.try_)] if page.try_ else []
        faults = [
            f"[{fault.number}](faults.md#fault-{fault.number})" for fault in FAULTS.values() if fault.code is code
        ]
        lines += ["", f"Faults: {', '.join(faults)}"] if faults else []
    return "\n".join(lines) + "\n"


def faults() -> str:
    """Return docs/faults.md."""
    lines = [
        "# Faults",
        NOTE,
        "",
        "What goes wrong, and what kctl prints: `#` stands for a number, `...` for anything. Codes are those of "
        "[exit codes](exit-codes.md); 0 is a fault that ends no call. `kctl explain fault N` prints one.",
    ]
    for fault in FAULTS.values():
        lines += ["", f'## <a id="fault-{fault.number}"></a>{fault.number}. {fault.title}', fault.causes, ""]
        lines += [f"- message: `{fault.reason}`"] if fault.reason else ["- no message: there is nothing to do"]
        lines += [f"- hint: `{fault.hint}`"] if fault.hint else []
        lines += [f"- exit code: {int(fault.code)}"]
    return "\n".join(lines) + "\n"


def timeouts() -> str:
    """Return docs/timeouts.md."""
    lines = [
        "# Timeouts",
        NOTE,
        "",
        "Every call ends by its deadline. A timeout is never early. A timeout inside a call never "
        "outlasts it: the timeout of a request is min(what is left of the call, request.timeout.ms), and a connect "
        "timeout above the call's is cut by it. What happens to the connection then is decision "
        "[8](decisions/0008-requests-outlive-short-calls.md). Timeouts that contradict each other are refused before "
        "anything is done. `kctl topics list` and `describe` are under the API timeout until their output is "
        "formatted, decoding included; writing it to a slow reader is not.",
        "",
        "| timeout | client | flag | default | covers |",
        "|---|---|---|---|---|",
    ]
    for limit in LIMITS:
        flag = f"`{limit.flag}`" if limit.flag else ""
        cells = [
            f"`{limit.name}`",
            limit.client,
            flag,
            limit.default_text,
            limit.covers,
        ]
        lines.append(f"| {' | '.join(cells)} |")
    return "\n".join(lines) + "\n"


def pipeline_options() -> str:
    """Return docs/pipeline-options.md."""
    lines = [
        '# From `format("kafka")` to `format("kctl")`',
        "<!-- Written by tools/write_reference.py from kctl/pipeline/source/option_table.py; edit that. -->",
        "",
        "Every option of Spark's Kafka source and sink, and what kctl's data source makes of it. An option with no "
        "effect is accepted, and noted on the driver's stderr. An option in neither table is an error.",
        "",
        'One thing is not an option: a batch write needs `.mode("append")`. Spark does not let a Python source '
        "write in its default mode, ErrorIfExists, which the connector accepts.",
    ]
    for title, uses in (("Reading", ("read", "batch", "stream")), ("Writing", ("write",))):
        lines += ["", f"## {title}", "| option | | |", "|---|---|---|"]
        only = {"batch": "batch only", "stream": "streams only"}
        for row in OPTIONS:
            if row.use in uses:
                notes = "; ".join(filter(None, (only.get(row.use, ""), row.why)))
                lines.append(f"| `{row.name}` | {row.verdict.value} | {notes} |")
    lines += [
        "",
        "Any other `kafka.*` is a property of kctl's consumer or producer under Kafka's name; those that mean nothing "
        "outside Java (metrics, class names) have no effect.",
    ]
    return "\n".join(lines) + "\n"


def findings() -> str:
    """Return docs/findings.md."""
    lines = [
        "# Findings",
        "<!-- Written by tools/write_reference.py from kctl/why/table.py; edit that. -->",
        "",
        "What `kctl why` and `kctl doctor` look for ([why](why.md)). The ids are stable. Words in capitals are "
        "names and numbers. `kctl explain ID` prints one.",
        "",
        "| finding | severity | about | looks | what |",
        "|---|---|---|---|---|",
    ]
    for kind in FINDINGS.values():
        about = ", ".join(scope.value for scope in kind.scopes)
        cells = [f"[{kind.id}](#{kind.id})", kind.severity.value, about, str(kind.looks), kind.title]
        lines.append(f"| {' | '.join(cells)} |")
    for kind in FINDINGS.values():
        cure = placeholders(kind.cure)
        lines += [
            "",
            f'## <a id="{kind.id}"></a>{kind.id}',
            f"{kind.title}. {kind.leads_to}",
            "",
            f"- prints: {placeholders(kind.sentence)}",
            f"- needs: {'two looks' if kind.looks > 1 else 'one look'}; {', '.join(kind.requests)}",
            f"- rights: {'; '.join(rights_of(kind))}",
            f"- more: `{placeholders(kind.show)}`",
            f"- fix: `{cure}`" if is_command(kind.cure) else f"- fix: {cure}",
        ]
    return "\n".join(lines) + "\n"


def why_schema() -> str:
    """Return docs/schemas/why.v1.json."""
    text, whole = {"type": "string"}, {"type": "integer"}
    ids = {"enum": list(FINDINGS)}
    value = {"type": ["string", "number", "boolean", "null"]}
    evidence = _object(
        {"request": text, "of": text, "values": {"type": "object", "additionalProperties": value}},
        "what one request reported",
    )
    finding = {
        "id": ids,
        "severity": {"enum": [severity.value for severity in Severity]},
        "subject": text,
        "sentence": text,
        "leads_to": text,
        "show": {"type": "string", "description": "the command that shows more"},
        "cure": {"type": "string", "description": "the command that cures it, or what to do"},
        "evidence": {"type": "array", "items": evidence},
    }
    unchecked = _object(
        {
            "request": text,
            "of": text,
            "reason": text,
            "right": {"type": ["string", "null"]},
            "ids": {"type": "array", "items": ids},
        },
        "what could not be checked, and the right that is missing where that is the reason",
    )
    head = {
        "v": {"const": 1},
        "kind": {"const": "why"},
        "about": text,
        "wall_ms": whole,
        "complete": {"type": "boolean", "description": "false where something could not be checked"},
    }
    names = {"type": "array", "items": ids}
    document = {
        **head,
        "requests": whole,
        "checked": names,
        "unchecked": {"type": "array", "items": unchecked},
        "needs_watch": names,
        "rows": {"type": "array", "items": _object(finding, "a finding")},
    }
    schema = {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "Data formats of kctl why and kctl doctor, version 1",
        "description": "--output jsonl is a line for each finding; --output json and yaml are one document. Within a "
        "version fields and ids are added, never renamed or removed.",
        "oneOf": [{"$ref": "#/$defs/document"}, {"$ref": "#/$defs/line"}],
        "$defs": {
            "document": _object(document, "--output json and yaml"),
            "line": _object({**head, **finding}, "--output jsonl"),
        },
    }
    return json.dumps(schema, indent=2) + "\n"


def _object(properties: dict[str, Any], description: str) -> dict[str, Any]:
    """Return the schema of an object that has all of these fields."""
    return {
        "type": "object",
        "description": description,
        "required": list(properties),
        "additionalProperties": False,
        "properties": properties,
    }


REFERENCES = {
    "findings.md": findings,
    "schemas/why.v1.json": why_schema,
    "exit-codes.md": exit_codes,
    "faults.md": faults,
    "timeouts.md": timeouts,
    "pipeline-options.md": pipeline_options,
}


def main(arguments: list[str]) -> int:
    """Write the files, or with --check name those that are out of date."""
    stale = []
    for name, write in REFERENCES.items():
        file, text = DOCS / name, write()
        if not file.exists() or file.read_text(encoding="utf-8") != text:
            stale.append(name)
            if "--check" not in arguments:
                file.write_text(text, encoding="utf-8")
    if stale and "--check" in arguments:
        print(f"out of date: {', '.join(stale)}; run python tools/write_reference.py")
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
