"""Write docs/schemas/why.v1.json from the table of the findings of `kctl why`.

python tools/write_reference.py            # write it
python tools/write_reference.py --check    # exit with 1 if it is out of date
"""

import json
import sys
from pathlib import Path
from typing import Any

from kctl.why.finding import Severity
from kctl.why.table import FINDINGS

SCHEMA = Path(__file__).parents[1] / "docs" / "schemas" / "why.v1.json"


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
        "needs_samples": names,
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


def main(arguments: list[str]) -> int:
    """Write the schema, or with --check report whether it is out of date."""
    text = why_schema()
    if SCHEMA.read_text(encoding="utf-8") == text:
        return 0
    if "--check" in arguments:
        print("out of date: docs/schemas/why.v1.json; run python tools/write_reference.py")
        return 1
    SCHEMA.write_text(text, encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
