"""The pages of `kctl explain` as lines of text. Pure. Shown by tests/unit/cli/explanations/test_pages.py."""

import textwrap

from kctl.cli.exit_codes import ExitCode
from kctl.cli.explanations.exit_codes import CODE_PAGES
from kctl.cli.explanations.fault import Fault
from kctl.cli.explanations.faults import FAULTS
from kctl.cli.explanations.limits import Limit
from kctl.cli.failures import BROKER_HINTS, broker_exit_code, class_exit_code
from kctl.client.broker_errors import ErrorCode
from kctl.client.config.property import AnyProperty
from kctl.client.errors import KafkaError

WIDTH = 100


def code_page(code: ExitCode) -> list[str]:
    """Return the page of an exit code."""
    page = CODE_PAGES[code]
    lines = [f"exit code {int(code)} ({code.name}): {code.text}", "", *_wrapped(page.means)]
    if page.try_:
        lines += ["", "Try:", *(line for each in page.try_ for line in _item(each))]
    faults = [fault for fault in FAULTS.values() if fault.code is code]
    if faults:
        lines += ["", "Faults that end with it (kctl explain fault N):"]
        lines += [f"  {fault.number:>2}  {fault.title}" for fault in faults]
    return lines


def fault_page(fault: Fault) -> list[str]:
    """Return the page of a fault."""
    lines = [f"fault {fault.number}: {fault.title}", "", *_wrapped(fault.causes)]
    if fault.reason:
        lines += ["", f"kctl says:  {fault.reason}"]
    if fault.hint:
        lines.append(f"hint:       {fault.hint}")
    code = "it ends no call" if fault.code is ExitCode.OK else f"{int(fault.code)} ({fault.code.text})"
    return [*lines, f"exit code:  {code}"]


def class_page(kind: type[KafkaError]) -> list[str]:
    """Return the page of an error class of the client."""
    code = class_exit_code(kind)
    retried = "yes" if kind.retriable else "no"
    summary = (kind.__doc__ or "").strip().partition("\n\n")[0]
    return [
        f"error {kind.__name__}",
        "",
        *_wrapped(" ".join(summary.split())),
        "",
        f"tried again by itself:  {retried}",
        f"exit code:              {int(code)} ({code.text}); see kctl explain {int(code)}",
    ]


def broker_page(error: ErrorCode) -> list[str]:
    """Return the page of a broker's error code."""
    code = broker_exit_code(error.name)
    lines = [f"broker error {int(error)} ({error.name})", "", *_wrapped(error.text), ""]
    if error.name in BROKER_HINTS:
        lines.append(f"hint:                   {BROKER_HINTS[error.name]}")
    lines.append(f"tried again by itself:  {'yes' if error.retriable else 'no'}")
    return [*lines, f"exit code:              {int(code)} ({code.text}); see kctl explain {int(code)}"]


def limit_page(limit: Limit) -> list[str]:
    """Return the page of a limit."""
    kind = "" if limit.kind is None else f" of the {limit.kind.KIND}"
    flag = f" ({limit.flag})" if limit.flag else ""
    return [f"limit {limit.name}{flag}{kind}, default {limit.default_text}", "", *_wrapped(limit.covers), ""]


def property_page(declared: AnyProperty) -> list[str]:
    """Return the page of a property."""
    shown = declared.show(declared.default) if declared.default is not None else ""
    lines = [f"property {declared.name}", "", *_wrapped(declared.doc), "", f"takes:    {declared.kind.accepted}"]
    return [*lines, f"default:  {shown or 'none'}"]


def see_also(name: str) -> list[str]:
    """Return the reference to a broker error of the same number."""
    return [f"As an error code of a broker it is {name}: kctl explain {name}"]


def all_codes() -> list[str]:
    """Return the list of exit codes, and what else can be explained."""
    lines = [f"{int(code):>4}  {code.text}" for code in ExitCode]
    more = "kctl explain also takes a broker's error (3, UNKNOWN_TOPIC_OR_PARTITION), an error class (ConnectTimeout), "
    more += "a limit or property (--connect-timeout, linger.ms), a fault (fault 7), or a line that kctl has printed."
    return ["Exit codes (kctl explain N):", *lines, "", *_wrapped(more)]


def _wrapped(text: str) -> list[str]:
    return textwrap.wrap(text, WIDTH, break_long_words=False, break_on_hyphens=False)


def _item(text: str) -> list[str]:
    return textwrap.wrap(text, WIDTH, initial_indent="  - ", subsequent_indent="    ", break_long_words=False)
