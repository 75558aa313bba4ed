"""Pages of `kctl explain` about exit codes, faults and errors.

No properties, findings or clients are imported, to keep `kctl explain 18` fast.
"""

import re
from collections.abc import Iterable

from kctl.cli.exit_codes import ExitCode, exit_code_of
from kctl.cli.explanations.advice import CLASS_ADVICE, broker_advice
from kctl.cli.explanations.broker_causes import BROKER_CAUSES
from kctl.cli.explanations.exit_codes import CODE_PAGES
from kctl.cli.explanations.fault import Fault
from kctl.cli.explanations.faults import FAULTS
from kctl.cli.explanations.page import Page
from kctl.client.broker_errors import ErrorCode, error_class
from kctl.client.errors import KafkaError

_NUMBER = re.compile(r"(?:(exit|code|error|fault|#)\s*)?(-?[0-9]{1,9})", re.IGNORECASE)
_OWN_CODES = {int(code): code for code in ExitCode}
BROKER_CODES = {int(code): code for code in ErrorCode}


def pages_by_number(text: str) -> list[Page] | None:
    """Return the pages for a number such as `18`, `error 3` or `fault 7`; None if `text` is not a number."""
    number = _NUMBER.fullmatch(text.strip())
    return None if number is None else _by_number((number[1] or "").lower(), int(number[2]))


def _by_number(kind: str, number: int) -> list[Page]:
    if kind in ("fault", "#"):
        return [fault_page(FAULTS[number])] if number in FAULTS else []
    own, brokers = _OWN_CODES.get(number), BROKER_CODES.get(number)
    if own is not None and kind != "error":
        is_typed = not kind and brokers is not None and number
        return [code_page(own, see_also(brokers.name) if is_typed and brokers is not None else "")]
    return [] if brokers is None else [broker_page(brokers)]


def all_codes() -> list[Page]:
    return [code_page(code) for code in ExitCode]


def code_page(code: ExitCode, also: str = "") -> Page:
    page = CODE_PAGES[code]
    faults = [fault for fault in FAULTS.values() if fault.code is code]
    return Page(
        "exit code",
        code.name,
        f"exit code {int(code)} ({code.name}): {code.text}",
        (page.means,),
        page.try_,
        lists=_fault_list("Faults with this exit code (kctl explain fault N):", faults),
        also=also,
    )


def fault_page(fault: Fault) -> Page:
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
    code = exit_code_of(kind.kind)
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
    code = exit_code_of(error_class(error).kind)
    known = BROKER_CAUSES.get(error.name)
    return Page(
        "broker error",
        error.name,
        f"broker error {int(error)} ({error.name})",
        (error.text, *([known.causes] if known is not None else [])),
        broker_advice(error.name),
        (("retried automatically", "yes" if error.retriable else "no"), ("exit code", _of_code(code))),
        _fault_list("Faults with this error (kctl explain fault N):", _faults_with(error)),
    )


def _of_code(code: ExitCode) -> str:
    return f"{int(code)} ({code.text}); see kctl explain {int(code)}"


def _faults_with(error: ErrorCode) -> list[Fault]:
    return [fault for fault in FAULTS.values() if f"({error.name})" in fault.reason]


def _fault_list(heading: str, faults: Iterable[Fault]) -> tuple[tuple[str, tuple[tuple[str, str], ...]], ...]:
    names = tuple((str(fault.number), fault.title) for fault in faults)
    return ((heading, names),) if names else ()


def see_also(name: str) -> str:
    """Return the reference to a broker error with the same number."""
    return f"This number is also the broker error code {name}: kctl explain {name}"
