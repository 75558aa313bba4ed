"""The pages of `kctl explain`, each made from where its facts are declared. Pure."""

from collections.abc import Iterable

from kctl.cli.exit_codes import ExitCode
from kctl.cli.explanations.advice import CLASS_ADVICE, broker_advice
from kctl.cli.explanations.broker_causes import BROKER_CAUSES
from kctl.cli.explanations.exit_codes import CODE_PAGES
from kctl.cli.explanations.fault import Fault
from kctl.cli.explanations.faults import FAULTS
from kctl.cli.explanations.finding_examples import example_of
from kctl.cli.explanations.limits import LIMITS, Limit
from kctl.cli.explanations.page import Page
from kctl.cli.failures import broker_exit_code, class_exit_code
from kctl.cli.settings import ALL_KINDS, ENVIRONMENT_PREFIX
from kctl.client.broker_errors import ErrorCode
from kctl.client.config import KINDS, AnyProperty
from kctl.client.errors import KafkaError
from kctl.grammar.durations import show_duration
from kctl.why.finding import FindingKind
from kctl.why.table import rights_of


def code_page(code: ExitCode, also: str = "") -> Page:
    """Return the page of an exit code."""
    page = CODE_PAGES[code]
    faults = [fault for fault in FAULTS.values() if fault.code is code]
    return Page(
        "exit code",
        code.name,
        f"exit code {int(code)} ({code.name}): {code.text}",
        (page.means,),
        page.try_,
        lists=_fault_list("Faults that end with it (kctl explain fault N):", faults),
        also=also,
    )


def fault_page(fault: Fault) -> Page:
    """Return the page of a fault."""
    end = "none: no call fails" if fault.code is ExitCode.OK else _of_code(fault.code)
    facts = [("kctl prints", fault.reason), ("hint", fault.hint), ("exit code", end)]
    return Page(
        "fault",
        f"fault {fault.number}",
        f"fault {fault.number}: {fault.title}",
        (fault.causes,),
        facts=tuple((name, value) for name, value in facts if value),
    )


def class_page(kind: type[KafkaError]) -> Page:
    """Return the page of an error class of the client."""
    code = class_exit_code(kind)
    summary = (kind.__doc__ or "").strip().partition("\n\n")[0]
    return Page(
        "error",
        kind.__name__,
        f"error {kind.__name__}",
        (" ".join(summary.split()),),
        (CLASS_ADVICE[kind.__name__],),
        (("retried automatically", "yes" if kind.retriable else "no"), ("exit code", _of_code(code))),
    )


def broker_page(error: ErrorCode) -> Page:
    """Return the page of a broker's error code."""
    code = broker_exit_code(error.name)
    known = BROKER_CAUSES.get(error.name)
    return Page(
        "broker error",
        error.name,
        f"broker error {int(error)} ({error.name})",
        (error.text, *([known.causes] if known is not None else [])),
        broker_advice(error.name),
        (("retried automatically", "yes" if error.retriable else "no"), ("exit code", _of_code(code))),
        _fault_list("Faults where it occurs (kctl explain fault N):", _faults_with(error)),
    )


def limit_page(limit: Limit) -> Page:
    """Return the page of a limit."""
    of = "" if limit.client == "every" else f" of the {limit.client}"
    flag = f" ({limit.flag})" if limit.flag else ""
    declared = limit.kind.PROPERTIES[limit.name] if limit.kind is not None else None
    return Page(
        "limit",
        limit.name,
        f"limit {limit.name}{flag}{of}, default {limit.default_text}",
        (limit.covers,),
        facts=() if declared is None else _facts(declared),
    )


def property_page(declared: AnyProperty) -> Page:
    """Return the page of a property."""
    return Page("property", declared.name, f"property {declared.name}", (declared.doc,), facts=_facts(declared))


def ignored_page(name: str, reason: str, *, is_refused: bool) -> Page:
    """Return the page of a property of Java's clients that does nothing here, or is refused."""
    does = "is refused here" if is_refused else "is accepted and ignored"
    return Page("property", name, f"property {name}", (f"A property of Java's clients that {does}: {reason}.",))


def finding_page(kind: FindingKind) -> Page:
    """Return the page of a finding of `kctl why`."""
    example = example_of(kind)
    facts = [
        ("severity", kind.severity.value),
        ("example", example.sentence),
        ("about", ", ".join(scope.value for scope in kind.scopes)),
        ("looks", "two (--watch)" if kind.looks > 1 else "one"),
        ("requests", ", ".join(kind.requests)),
        ("rights", "; ".join(rights_of(kind))),
        ("more", example.show),
        ("cure", example.cure),
    ]
    return Page("finding", kind.id, f"finding {kind.id}: {kind.title}", (kind.leads_to,), facts=tuple(facts))


def _defaults_text(defaults: dict[str, str]) -> str:
    """Return the default, with the clients where they differ."""
    if len(set(defaults.values())) <= 1:
        return next(iter(defaults.values()), "none")
    return ", ".join(f"{value} ({kind})" for kind, value in defaults.items())


def _facts(declared: AnyProperty) -> tuple[tuple[str, str], ...]:
    """Return what is known of a property: its bounds, its defaults, and who has it."""
    having = [kind for kind in ALL_KINDS if declared.name in kind.PROPERTIES and declared.name not in kind.INSTEAD]
    clients = "every client" if len(having) == len(KINDS) else ", ".join(kind.KIND for kind in having)
    defaults = {kind.KIND: _default(kind.PROPERTIES[declared.name]) for kind in having}
    flags = dict.fromkeys(limit.flag for limit in LIMITS if limit.name == declared.name and limit.flag)
    facts = [
        ("takes", declared.kind.accepted),
        ("default", _defaults_text(defaults)),
        ("clients", clients),
        ("second name", declared.alias or ""),
        ("option", ", ".join(flags)),
        ("variable", ENVIRONMENT_PREFIX + declared.name.upper().replace(".", "_")),
        ("secret", "yes: it is never printed, and refused in -X" if declared.secret else ""),
    ]
    return tuple((name, value) for name, value in facts if value)


def _default(declared: AnyProperty) -> str:
    if declared.default is None:
        return "none"
    text = declared.show(declared.default)
    if declared.name.endswith(".ms") and isinstance(declared.default, int) and 0 < declared.default < 1 << 53:
        return f"{text} ({show_duration(declared.default)})"
    return text or "none"


def _of_code(code: ExitCode) -> str:
    return f"{int(code)} ({code.text}); see kctl explain {int(code)}"


def _faults_with(error: ErrorCode) -> list[Fault]:
    return [fault for fault in FAULTS.values() if f"{error.name} ({int(error)})" in fault.reason]


def _fault_list(heading: str, faults: Iterable[Fault]) -> tuple[tuple[str, tuple[tuple[str, str], ...]], ...]:
    names = tuple((str(fault.number), fault.title) for fault in faults)
    return ((heading, names),) if names else ()


def see_also(name: str) -> str:
    """Return the reference to a broker error of the same number."""
    return f"As an error code of a broker it is {name}: kctl explain {name}"
