"""The manual pages: one for each command with its subcommands, and four about what all commands share.

Everything said comes from the commands, the catalogue of `kctl explain` and docs/formats.md; what stands here is their
order, and what is true of every command.
"""

from collections.abc import Iterable
from pathlib import Path

from kctl.cli.command_tree import Argument, Command, Option, read_tree
from kctl.cli.examples import EXAMPLES
from kctl.cli.exit_codes import ExitCode
from kctl.cli.explanations.exit_codes import CODE_PAGES
from kctl.cli.explanations.faults import FAULTS
from kctl.cli.explanations.limits import LIMITS
from tools.manual.markdown import write_markdown
from tools.manual.roff import Page, bold, italic

DOCS = Path(__file__).parents[2] / "docs"
_OF_COMMANDS = "the commands"
_GENERAL = ("kctl-options(7)", "kctl-exit-codes(7)", "kctl-timeouts(7)", "kctl-formats(7)")

ENVIRONMENT = (
    (
        "KCTL_<PROPERTY>",
        "Kafka client property: KCTL_BOOTSTRAP_SERVERS sets bootstrap.servers. Options and -X have precedence.",
    ),
    ("KCTL_PROFILE", "Profile to use without --profile."),
    ("KCTL_COMPLETION_TIMEOUT_MS", "Maximum time for completing names from the cluster, in ms. Default: 300."),
    ("NO_COLOR", "Disables colors if set to any value."),
)
FILES = (
    ("~/.config/kctl/config.toml", "Your profiles. If $XDG_CONFIG_HOME is set, it replaces ~/.config."),
    (".kctl.toml", "Profiles of a project, in the working directory or one of its parents."),
)


def all_pages() -> dict[str, str]:
    """Return the text of each page by its file's name."""
    tree = read_tree()
    pages = [_root(tree), *(_command(each) for each in tree.commands)]
    pages += [_common_options(tree), _exit_codes(), _timeouts(), _formats()]
    return {page.file: page.text() for page in pages}


def _root(tree: Command) -> Page:
    page = Page("kctl", 1, tree.summary, _OF_COMMANDS)
    page.section("Synopsis")
    page.line(_synopsis(tree))
    _description(page, tree)
    page.section("Commands")
    for each in tree.commands:
        page.item(f"{bold('-'.join(each.path))}(1)", each.summary)
    page.section("Options")
    _options(page, tree.options)
    _exit_status(page)
    page.section("Environment")
    for name, text in ENVIRONMENT:
        page.item(bold(name), text)
    page.section("Files")
    for name, text in FILES:
        page.item(italic(name), text)
    _see_also(page, [*(f"{'-'.join(each.path)}(1)" for each in tree.commands), *_GENERAL])
    return page


def _command(command: Command) -> Page:
    page = Page("-".join(command.path), 1, command.summary, _OF_COMMANDS)
    leaves = [each for each in command.walk() if each.runs]
    page.section("Synopsis")
    for each in leaves:
        page.line(_synopsis(each))
    _description(page, command)
    if command.commands:
        page.section("Commands")
        for each in (each for each in leaves if each is not command):
            page.part(" ".join(each.path))
            for text in each.text:
                page.paragraph(text)
            _arguments(page, each.arguments)
            _options(page, [option for option in each.options if not option.is_common and "--help" not in option.names])
    elif command.arguments:
        page.section("Arguments")
        _arguments(page, command.arguments)
    page.section("Options")
    _options(page, [option for option in command.options if not option.is_common])
    _common(page, leaves)
    examples = [example for each in command.walk() for example in EXAMPLES.get(each.name, ())]
    if examples:
        page.section("Examples")
        for example in examples:
            page.paragraph(f"{example.text}:")
            page.example([example.line])
    _exit_status(page)
    _see_also(page, ["kctl(1)", *_GENERAL])
    return page


def _synopsis(command: Command) -> str:
    words = [] if command.runs else [italic("COMMAND")]
    for each in command.arguments:
        words.append(
            italic(each.metavar) if each.is_required or each.metavar[0] == "[" else f"[{italic(each.metavar)}]"
        )
    return " ".join([bold(command.name), f"[{italic('OPTIONS')}]", *words])


def _description(page: Page, command: Command) -> None:
    page.section("Description")
    for text in command.text:
        page.paragraph(text)


def _arguments(page: Page, arguments: tuple[Argument, ...]) -> None:
    for each in arguments:
        if each.help:
            page.item(italic(each.metavar), each.help)


def _options(page: Page, options: "list[Option] | tuple[Option, ...]") -> None:
    for each in options:
        page.item(_names(each), " ".join(_sentences(each)))


def _names(option: Option) -> str:
    names = ", ".join(bold(name) for name in (*reversed(option.names), *option.off))
    return f"{names} {italic(option.metavar)}" if option.metavar else names


def _sentences(option: Option) -> list[str]:
    """Return what is known of an option, without what its help says already."""
    said = [option.help if option.help.endswith((".", ")")) else f"{option.help}."]
    if option.values and not all(word in option.help for word in option.values):
        said.append(f"Values: {', '.join(option.values)}.")
    has_default = "[default:" in option.help or "(" in option.help
    if option.default and not has_default and option.default not in option.help:
        said.append(f"Default: {option.default}.")
    if option.property and option.property not in option.help:
        said.append(f"Sets `{option.property}`.")
    return said


def _common(page: Page, leaves: list[Command]) -> None:
    common = _common_of(leaves)
    if common:
        page.section("Common options")
        page.line(", ".join(_names(option) for option in common))
        formats = [f" `--output` supports {', '.join(each.values)}." for each in common if _is_output(each)]
        page.paragraph(f"kctl-options(7) describes these options.{''.join(formats)}")


def _is_output(option: Option) -> bool:
    return option.names == ("--output",)


def _common_of(leaves: Iterable[Command]) -> list[Option]:
    """Return the common options of commands, each once, with the values of all."""
    common: dict[tuple[str, ...], Option] = {}
    for option in (option for each in leaves for option in each.options if option.is_common):
        known = common.get(option.names, option)
        common[option.names] = option._replace(values=tuple(dict.fromkeys((*known.values, *option.values))))
    return list(common.values())


def _common_options(tree: Command) -> Page:
    page = Page("kctl-options", 7, "Common options of kctl commands", _OF_COMMANDS)
    page.section("Description")
    page.paragraph(
        "All commands that connect to a cluster have these options. kctl uses the first of these sources: the "
        "option, `-X`, the environment variable, the file of `--command-config`, or the profile."
    )
    page.section("Options")
    _options(page, [each._replace(values=()) if _is_output(each) else each for each in _common_of(tree.walk())])
    _see_also(page, ["kctl(1)", "kctl-timeouts(7)"])
    return page


def _exit_status(page: Page) -> None:
    page.section("Exit status")
    page.paragraph("kctl exits with 0 on success, and with a code for the cause on failure. See kctl-exit-codes(7).")


def _see_also(page: Page, names: list[str]) -> None:
    page.section("See also")
    shown = [f"{bold(name.partition('(')[0])}({name.partition('(')[2]}" for name in names]
    page.line(", ".join(shown))


def _exit_codes() -> Page:
    page = Page("kctl-exit-codes", 7, "Exit codes of kctl", "kctl/cli/explanations")
    page.section("Description")
    page.paragraph(
        "Each cause of failure has its own exit code. If brokers fail for different reasons, kctl lists all. The "
        "exit code belongs to the error that stopped the call. `kctl explain CODE` prints the same description."
    )
    page.section("Exit codes")
    for code in ExitCode:
        page.part(f"{int(code)}: {code.text}")
        page.paragraph(CODE_PAGES[code].means)
        for each in CODE_PAGES[code].try_:
            page.bullet(each)
    page.section("Faults")
    page.paragraph(
        "Each fault is listed with its exit code. `kctl explain fault N` prints the causes and fixes of a fault."
    )
    for fault in FAULTS.values():
        end = "calls continue" if fault.code is ExitCode.OK else f"exit code {int(fault.code)}"
        page.item(bold(f"fault {fault.number}"), f"{fault.title}: {end}.")
    _see_also(page, ["kctl(1)", "kctl-timeouts(7)"])
    return page


def _timeouts() -> Page:
    page = Page("kctl-timeouts", 7, "Timeouts of kctl and its clients", "kctl/cli/explanations")
    page.section("Description")
    page.paragraph(
        "Each call ends at its deadline, and timeouts never expire early. The timeout of a request never exceeds the "
        "remaining time of the call. kctl rejects contradictory timeouts at startup. Durations on the command line "
        "need a unit, such as 5s, 500ms, or 1m30s."
    )
    page.section("Timeouts")
    for limit in LIMITS:
        kind = "every client" if limit.client == "every" else f"the {limit.client}"
        tag = bold(limit.name) + (f" ({bold(limit.flag)})" if limit.flag else "")
        page.item(tag, limit.covers, f"Applies to {kind}. Default: {limit.default_text}.")
    _see_also(page, ["kctl(1)", "kctl-exit-codes(7)"])
    return page


def _formats() -> Page:
    page = Page(
        "kctl-formats", 7, "Output formats of kctl consume and input formats of kctl produce", "docs/formats.md"
    )
    page.section("Description")
    write_markdown(page, (DOCS / "formats.md").read_text(encoding="utf-8"))
    _see_also(page, ["kctl-consume(1)", "kctl-produce(1)"])
    return page
