r"""Templates of `--write-out`, as in curl.

%{name} is a field, %% a percent sign, and \n \t \r \\ are escapes. No newline is appended.
"""

import re
from collections.abc import Callable

from kctl.cli.failures import exit_code
from kctl.cli.limit_names import with_options
from kctl.cli.probe.view.result import PHASES, latency_ms, outcome
from kctl.client.config import nearest_name
from kctl.client.events import Phase
from kctl.client.probe import DAY_MS, AddressReport
from kctl.client.security import PeerCertificate
from kctl.client.wording import harmless_text

Field = Callable[[AddressReport, int], object]
"""Function of a report and the time since the epoch; None is written as an empty string."""


def _phase(phase: Phase) -> Field:
    return lambda report, _: report.phases_ms.get(phase)


def _leaf(report: AddressReport) -> PeerCertificate | None:
    return report.tls.chain[0] if report.tls is not None and report.tls.chain else None


def _of_leaf(read: Callable[[PeerCertificate, int], object]) -> Field:
    def field(report: AddressReport, wall_ms: int) -> object:
        leaf = _leaf(report)
        return None if leaf is None else read(leaf, wall_ms)

    return field


FIELDS: dict[str, Field] = {
    "host": lambda report, _: report.target.host,
    "port": lambda report, _: report.target.port,
    "address": lambda report, _: report.target.address,
    "node_id": lambda report, _: report.target.node_id,
    "advertised": lambda report, _: "yes" if report.advertised else "no",
    "outcome": lambda report, _: outcome(report).value,
    "phase": lambda report, _: report.phase.value,
    **{f"{phase.value}_ms": _phase(phase) for phase in PHASES},
    "total_ms": lambda report, _: latency_ms(report) if report.is_ready else report.elapsed_ms,
    "limit_ms": lambda report, _: report.limit_ms,
    "error": lambda report, _: with_options(report.reason),
    "error_name": lambda report, _: None if report.error is None else type(report.error).__name__,
    "exit_code": lambda report, _: 0 if report.error is None else int(exit_code(report.error)),
    "works_with": lambda report, _: report.works_with,
    "answers_as": lambda report, _: report.answers_as,
    "advertised_as": lambda report, _: None if report.broker is None else f"{report.broker.host}:{report.broker.port}",
    "cluster_id": lambda report, _: None if report.view is None else report.view.cluster_id,
    "controller_id": lambda report, _: None if report.view is None else report.view.controller_id,
    "brokers": lambda report, _: None if report.view is None else len(report.view.brokers),
    "apis": lambda report, _: len(report.versions),
    "sasl_mechanisms": lambda report, _: ",".join(report.sasl_mechanisms),
    "tls_version": lambda report, _: None if report.tls is None else report.tls.version,
    "tls_cipher": lambda report, _: None if report.tls is None else report.tls.cipher,
    "cert_subject": _of_leaf(lambda leaf, _: leaf.subject),
    "cert_issuer": _of_leaf(lambda leaf, _: leaf.issuer),
    "cert_names": _of_leaf(lambda leaf, _: ",".join(leaf.names)),
    "cert_not_after": _of_leaf(lambda leaf, _: leaf.not_after),
    "cert_days": _of_leaf(lambda leaf, wall_ms: (leaf.not_after_ms - wall_ms) // DAY_MS),
    "idle_ms": lambda report, _: None if report.idle is None else report.idle.idle_ms,
    "idle_outcome": lambda report, _: (
        None if report.idle is None else "ok" if report.idle.error is None else type(report.idle.error).__name__
    ),
}
"""Fields by name, in the order of the documentation."""

_PIECE = re.compile(r"%\{(?P<name>[^}]*)\}|%(?P<percent>.?)|\\(?P<escape>.?)|(?P<plain>[^%\\]+)", re.DOTALL)
_ESCAPES = {"n": "\n", "t": "\t", "r": "\r", "\\": "\\"}
LONGEST_TEMPLATE = 10_000

Template = list[str | Field]


def parse_template(text: str) -> Template:
    """Return a template for `fill`.

    Raises: ValueError: a field is unknown, a % or backslash is not escaped, or the template is too long.
    """
    if len(text) > LONGEST_TEMPLATE:
        raise ValueError(f"the template has {len(text)} characters, more than {LONGEST_TEMPLATE}")
    pieces: Template = []
    for match in _PIECE.finditer(text):
        pieces.append(_piece(match))
    return pieces


def _piece(match: re.Match[str]) -> str | Field:
    name, percent, escape, plain = match["name"], match["percent"], match["escape"], match["plain"]
    if plain is not None:
        return plain
    if name is not None:
        return _field(name)
    if escape is not None:
        if escape not in _ESCAPES:
            raise ValueError(f"unknown escape \\{escape}: use \\n, \\t, \\r, or \\\\")
        return _ESCAPES[escape]
    if percent == "%":
        return "%"
    raise ValueError(f"unexpected %{percent}: write %{{name}} for a field, or %% for a percent sign")


def _field(name: str) -> Field:
    field = FIELDS.get(name)
    if field is None:
        near = nearest_name(name, FIELDS)
        hint = f"did you mean %{{{near}}}?" if near is not None else f"use {', '.join(FIELDS)}"
        raise ValueError(f"unknown field %{{{name[:40]}}}: {hint}")
    return field


def fill(template: Template, report: AddressReport, wall_ms: int) -> str:
    """Return the template filled with the fields of one address. Unknown values are empty."""
    return "".join(piece if isinstance(piece, str) else _text(piece(report, wall_ms)) for piece in template)


def _text(value: object) -> str:
    return "" if value is None else harmless_text(str(value)).replace("\n", " ")
