"""Pages of the site that `kctl explain` has the text of: exit codes, failures, timeouts, findings, options for Spark;
and pages of names: the API, and the names of other Python clients.

A hook of mkdocs adds them when the site is built (mkdocs.yml), so that no copy is kept in docs/.
"""

from collections.abc import Callable
from functools import partial

from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files

from kctl.cli.exit_codes import ExitCode
from kctl.cli.explanations.exit_codes import CODE_PAGES
from kctl.cli.explanations.faults import FAULTS
from kctl.cli.explanations.finding_examples import example_of
from kctl.cli.explanations.limits import LIMITS
from kctl.pipeline.source.option_table import OPTIONS
from kctl.why.finding import is_command
from kctl.why.table import FINDINGS, rights_of
from tools.api_pages import API_PAGES, api_page
from tools.other_clients import python_clients


def exit_codes() -> str:
    """Return the page of exit codes."""
    lines = [
        "# Exit codes",
        "",
        "Each kind of failure has its own exit code. If several brokers fail, kctl lists all errors and exits with the "
        "code of the error that blocked the call. `kctl explain CODE` prints one page.",
    ]
    for code in ExitCode:
        page = CODE_PAGES[code]
        lines += ["", f"## {int(code)}: {code.text}", page.means]
        lines += ["", *(f"- {each}" for each in page.try_)] if page.try_ else []
        faults = [
            f"[{fault.number}](faults.md#fault-{fault.number})" for fault in FAULTS.values() if fault.code is code
        ]
        lines += ["", f"Failures: {', '.join(faults)}"] if faults else []
    return "\n".join(lines) + "\n"


def faults() -> str:
    """Return the page of failures and messages."""
    lines = [
        "# Failures and messages",
        "",
        "Failures, and the message that kctl prints for each. `#` is a number, `...` is any text. A failure with "
        "[exit code](exit-codes.md) 0 does not stop the command. `kctl explain fault N` prints one page.",
    ]
    for fault in FAULTS.values():
        lines += ["", f'## <a id="fault-{fault.number}"></a>{fault.number}. {fault.title}', fault.causes, ""]
        lines += [f"- message: `{fault.reason}`"] if fault.reason else ["- message: none"]
        lines += [f"- hint: `{fault.hint}`"] if fault.hint else []
        lines += [f"- exit code: {int(fault.code)}"]
    return "\n".join(lines) + "\n"


def timeouts() -> str:
    """Return the page of timeouts."""
    lines = [
        "# Timeouts",
        "",
        "Every call finishes by its deadline and never times out early. The timeout of a request is request.timeout.ms "
        "or the remaining time of the call, whichever is less. kctl rejects timeouts that contradict each other.",
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
    """Return the page of Spark's options."""
    lines = [
        '# From `format("kafka")` to `format("kctl")`',
        "",
        "Options of Spark's Kafka source and sink, and their effect in kctl's data source. Options without an effect "
        "are accepted and logged on the driver's stderr. Unknown options are errors.",
        "",
        'A batch write also needs `.mode("append")`: Spark rejects its default, ErrorIfExists, for Python sources.',
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
        "Any other `kafka.*` option sets a property of kctl's consumer or producer by Kafka's name. Properties that "
        "only apply to Java, such as class names, have no effect.",
    ]
    return "\n".join(lines) + "\n"


def findings() -> str:
    """Return the page of findings."""
    lines = [
        "# Findings",
        "",
        "Problems that [kctl why and kctl doctor](why.md) detect, each with an example. The ids are stable. "
        "`kctl explain ID` prints one page.",
        "",
        "| finding | severity | scope | samples | problem |",
        "|---|---|---|---|---|",
    ]
    for kind in FINDINGS.values():
        about = ", ".join(scope.value for scope in kind.scopes)
        cells = [f"[{kind.id}](#{kind.id})", kind.severity.value, about, str(kind.looks), kind.title]
        lines.append(f"| {' | '.join(cells)} |")
    for kind in FINDINGS.values():
        example = example_of(kind)
        lines += [
            "",
            f'## <a id="{kind.id}"></a>{kind.id}',
            f"{kind.title}. {kind.leads_to}",
            "",
            f"- prints: {example.sentence}",
            f"- needs: {'two samples' if kind.looks > 1 else 'one sample'}; {', '.join(kind.requests)}",
            f"- permissions: {'; '.join(rights_of(kind))}",
            f"- more: `{example.show}`",
            f"- fix: `{example.cure}`" if is_command(kind.cure) else f"- fix: {example.cure}",
        ]
    return "\n".join(lines) + "\n"


PAGES: dict[str, Callable[[], str]] = {
    "exit-codes.md": exit_codes,
    "faults.md": faults,
    "timeouts.md": timeouts,
    "findings.md": findings,
    "pipeline-options.md": pipeline_options,
    "python-clients.md": python_clients,
    **{page: partial(api_page, module) for page, module in API_PAGES.items()},
}


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Add the pages to the site."""
    for name, write in PAGES.items():
        files.append(File.generated(config, name, content=write()))
    return files
