"""Command lines as people type them who come from other tools: each works, or one line names what to type."""

import shlex
from collections.abc import Mapping
from typing import Any

import pytest
import typer
from hypothesis import given
from hypothesis import strategies as st

from kctl.cli.app import command_of, root
from kctl.cli.click import PARSER_ERRORS
from kctl.cli.command_tree import Command, read_tree
from kctl.cli.commands import Group
from kctl.cli.other_tools import ARGUMENT, FLAGS
from kctl.cli.other_tools import OPTIONS as ACCEPTED
from kctl.cli.suggestions import COMMANDS, OPTIONS, Unknown, did_you_mean
from tests.support.in_process import run_in_process

NO_SERVERS = "bootstrap.servers is not set"
"""The first thing that is wrong with a command line which is right but for the cluster."""
BAD_PORT = "entry 'h:0': the port must be from 1 to 65535"
"""What is wrong with the server h:0: it shows that the option with it was read."""

WORKS = [
    ("consume t -n 5 -o -5", NO_SERVERS),
    ("consume t -o end -f '%v'", NO_SERVERS),
    ("consume t -o s@1700000000000", NO_SERVERS),
    ("consume t --from-beginning", NO_SERVERS),
    ("consume t --max 5", NO_SERVERS),
    ("bench consume --topic t --records 5", NO_SERVERS),
    ("wait topic t --gone", NO_SERVERS),
    ("why topic t --budget 9", NO_SERVERS),
    ("why topic t --watch", NO_SERVERS),
    ("doctor --watch --ignore static-ghost --only certificate-ends", NO_SERVERS),
    ("brokers -b h:0 disks 1", BAD_PORT),
    ("topics -b h:0 get t", BAD_PORT),
    ("cluster --broker-list h:0 info", BAD_PORT),
    ("configs -b h:0 get topic t", BAD_PORT),
    ("partitions plan t --to 1", NO_SERVERS),
    ("partitions plan --away-from 1", NO_SERVERS),
    ("brokers disks 1", NO_SERVERS),
    ("consume t --decode protobuf --protoset /nonexistent --message M", "/nonexistent"),
    ("consume t --tail 5", NO_SERVERS),
    ("consume t --since 1h30m", NO_SERVERS),
    ("consume t --since PT1H", NO_SERVERS),
    ("consume t --since -1h", NO_SERVERS),
    ("consume t --since 1700000000000", NO_SERVERS),
    ("consume t -K '{' -D '}'", NO_SERVERS),
    ("produce t -K:", NO_SERVERS),
    ("consume -n 5 t u", NO_SERVERS),
    ("consume t --isolation-level committed -b h:0", BAD_PORT),
    ("topics ls", NO_SERVERS),
    ("topic list", NO_SERVERS),
    ("topic ls", NO_SERVERS),
    ("group list", NO_SERVERS),
    ("groups ls", NO_SERVERS),
    ("group describe g", NO_SERVERS),
    ("topics create t -p 3 -r 1", NO_SERVERS),
    ("topics create t -p3 -r1", NO_SERVERS),
    ("produce t -k key", NO_SERVERS),
    ("produce t --key key", NO_SERVERS),
    ("-b h:0 consume t", BAD_PORT),
    ("-bh:0 topics list", BAD_PORT),
    ("--bootstrap-server h:0 topics list", BAD_PORT),
    ("--brokers h:0 topics list", BAD_PORT),
    ("--broker-list h:0 topics list", BAD_PORT),
    ("topics --broker-list h:0 list", BAD_PORT),
    ("topics --servers h:0 --timeout 5s list", BAD_PORT),
    ("groups -B h:0 --format json list", BAD_PORT),
    ("--timeout 5s -b h:0 topics list", BAD_PORT),
    ("topics --bootstrap-server h:0 list", BAD_PORT),
    ("topics --bootstrap-server=h:0 ls", BAD_PORT),
    ("-v --api-timeout 5s topics list -b h:0", BAD_PORT),
    ("--json topics list -b h:0", BAD_PORT),
    ("--json -b h:0 consume t", BAD_PORT),
    ("topics --json list -b h:0", BAD_PORT),
    ("consume t --brokers h:0", BAD_PORT),
    ("probe --bootstrap-servers h:0", BAD_PORT),
    ("consume t -b kafka://h:0", "entry 'kafka://h:0': the port must be from 1 to 65535"),
    ("-C p topics list", "no profile 'p' found"),
    ("consume t -c 1", NO_SERVERS),
    ("consume t --max-messages 1", NO_SERVERS),
    ("consume -t t", NO_SERVERS),
    ("consume t -J", NO_SERVERS),
    ("consume t --output json", NO_SERVERS),
    ("produce t -z zstd", NO_SERVERS),
    ("produce t --transactional-id a", NO_SERVERS),
    ("topics rm t", NO_SERVERS),
    ("topic produce t", NO_SERVERS),
    ("topics consume t", NO_SERVERS),
    ("topic delete t --no-confirm", NO_SERVERS),
    ("cluster info", NO_SERVERS),
    ("brokers list", NO_SERVERS),
    ("config show topic t", NO_SERVERS),
    ("configs get topic t", NO_SERVERS),
    ("nodes", NO_SERVERS),
    ("health", NO_SERVERS),
    ("offsets t", NO_SERVERS),
    ("topics list -o json", NO_SERVERS),
    ("topics list -f json", NO_SERVERS),
    ("acls create --principal User:a --operation read --topic t", NO_SERVERS),
    ("acls create --allow-principal User:a --operation read --topic t", NO_SERVERS),
    ("acls list --allow-principal User:a", NO_SERVERS),
    ("acls check --principal User:a --topic t", NO_SERVERS),
    ("partitions move --reassignment-json-file p.json", NO_SERVERS),
    ("consume t -B h:0", BAD_PORT),
    ("topics list --broker-list=h:0", BAD_PORT),
    ("probe h:0", "entry 'h:0': the port must be from 1 to 65535"),
    ("ping [::1]:0 --json", "entry '[::1]:0': the port must be from 1 to 65535"),
    ("why g", NO_SERVERS),
    ("topics --describe --topic t", NO_SERVERS),
    ("topics --topic t --describe", NO_SERVERS),
    ("topics --topic t -b h:0 --describe", BAD_PORT),
    ("groups --group g --topic t --reset-offsets --to-earliest", NO_SERVERS),
    ("acls --topic t --list", NO_SERVERS),
    ("configs --describe --entity-name t --entity-type topics", NO_SERVERS),
    ("configs --entity-type topics --entity-name t --describe", NO_SERVERS),
    ("configs show --entity-name=t --entity-type=topic", NO_SERVERS),
    ("-C -t t -e", NO_SERVERS),
    ("-P -t t", NO_SERVERS),
    ("-b h:0 -t t -C -e", BAD_PORT),
    ("-t t -C", NO_SERVERS),
    ("-t t -b h:0 -P -p 0", BAD_PORT),
    ("-b h:0 -o end -G g t", BAD_PORT),
    ("kafka-topics.sh --bootstrap-server h:0 --describe --topic t", BAD_PORT),
    ("kafka-consumer-groups --bootstrap-server h:0 --describe --group g", BAD_PORT),
    ("kafka-console-consumer.sh --bootstrap-server h:0 --topic t --from-beginning", BAD_PORT),
    ("kafka-console-producer.sh --bootstrap-server h:0 --topic t", BAD_PORT),
]  # fmt: skip

NAMED = [
    ("consume t --from-begining", "Did you mean '--from-beginning'?"),
    ("consume t -o 2026-11-22", "'2026-11-22' is a time: use @2026-11-22"),
    ("consume t --since 2w", "Invalid value for '--since': '2w' is not a time"),
    ("consume t -o -2w", "'2w' is not a duration"),
    (r"consume t -K '\q'", "Invalid value for '--key-separator' / '-K': unknown escape"),
    (r"consume t -D '\q'", "Invalid value for '--delimiter' / '-D': unknown escape"),
    ("consume t --api-timeout 5", "use 5s for seconds"),
    ("produce t -H a:b", "use a=b"),
    ("produce t --rate 5", "5/s"),
    ("consume t -b 'a:1 b:2'", "separate them with commas: a:1,b:2"),
    ("consume t -b 'a:1;b:2'", "separate them with commas: a:1,b:2"),
    ("consume t -b ::1:9092", "use brackets"),
    ("consume t -b h:1 -X metadata.broker.list=a:1", "did you mean bootstrap.servers?"),
    ("consume t -b h:1 -X brokers=a:1", "did you mean bootstrap.servers?"),
    ("produce t -b h:1 -X message.timeout.ms=5", "did you mean delivery.timeout.ms?"),
    ("produce t -b h:1 -X request.timeot.ms=5", "did you mean request.timeout.ms?"),
    ("consume t -X sasl.username=alice", "sasl.username needs sasl.password: set $KCTL_SASL_PASSWORD"),
    ("topics lst", "Did you mean 'list'?"),
    ("topics --topic list", "No such option '--topic'."),
    ("quotas --add", "Did you mean 'quotas set KEY=VALUE'?"),
    ("list", "Did you mean 'topics list'?"),
    ("topics create t -b --api-timeout 2s", "Missing value for -b: the next argument '--api-timeout' looks"),
    ("consume t -f -b h:1", "Missing value for -f: the next argument '-b' looks like an option."),
    ("consume t -f -b h:1", "hint: to pass -b as the value, write --format=-b"),
    ("consume t -ef -b h:1", "Missing value for -f: the next argument '-b' looks like an option."),
    ("consume t -X -b", "hint: to pass -b as the value, write -X-b"),
    ("-b -q topics list", "Missing value for -b: the next argument '-q' looks like an option."),
    ("topics -b --json list", "Missing value for -b: the next argument '--json' looks like an option."),
    ("cluster nonsense", "Available commands: describe, quorum."),
    ("-L -b h:1", "use kctl probe to show brokers"),
    ("-b h:1 --bogus", "No such option '--bogus'."),
    ("-b h:1", "Missing command. To check the connection, run: kctl probe -b HOST:PORT."),
    ("-b=h:1", "Missing command. To check the connection, run: kctl probe -b HOST:PORT."),
    ("why orders billing", "kctl why accepts one name. Run kctl why orders and kctl why billing."),
    ("why orders billing --output json", "kctl why accepts one name. Run kctl why orders and kctl why billing."),
    ("why grup billing", "No such command 'grup'. Did you mean 'group'?"),
    ("-t t -P -l f", "Did you mean 'kctl produce TOPIC FILE'?"),
    ("topics delete-records t", "Did you mean 'topics trim'?"),
    ("kafka-delete-records.sh --offset-json-file f", "Did you mean 'topics trim'?"),
    ("partitions list --unavailable-partitions", "Did you mean 'topics list --offline'?"),
    ("groups reset-offsets g --to latest", "Did you mean '--to-latest or --to-earliest'?"),
    ("partitions move p.json --execute", "Did you mean 'partitions move PLAN'?"),
    ("quotas set --entity-name ann producer_byte_rate=1", "Did you mean '--user NAME'?"),
    ("quotas set producer_byte_rat=1 --user ann", "'producer_byte_rat': did you mean producer_byte_rate?"),
    ("quotas unset xyz --user ann", "unknown quota 'xyz': use producer_byte_rate, "),
    ("consume --decode orders -e", "Invalid value for '--decode': 'orders' is not one of auto, avro"),
    ("produce t --encode --acks 1", "Missing value for --encode: the next argument '--acks' looks like an option."),
    ("topics list --json --output yaml", "--json cannot be combined with --output yaml: it selects --output json."),
    ("produce t --encode avr", "'avr': did you mean avro? For a subject with this name, write subject:avr."),
    ("doctor --samples 2 --interval 0", "Invalid value for '--interval': '0' has no unit"),
    ("doctor --interval 0s", "Invalid value for '--interval': the interval between samples must be at least 1s."),
    ("doctor --samples 2 --interval 0s", "the interval between samples must be at least 1s."),
    ("produce t --encode value=msgpak", "'msgpak': did you mean msgpack?"),
]  # fmt: skip


def test_no_option_takes_another_option_of_its_command_as_value() -> None:
    seen = 0
    for command in read_tree().walk():
        words = command.name.split()[1:]
        flags = [each.names[0] for each in command.options if not each.takes_value and "--help" not in each.names]
        for option in command.options if command.runs and flags else ():
            for name in option.names if option.takes_value else ():
                with pytest.raises(PARSER_ERRORS) as caught:
                    parse([*words, name, flags[0]])
                said = caught.value.format_message()
                assert said == f"Missing value for {name}: the next argument {flags[0]!r} looks like an option.", words
                seen += 1
    assert seen > 1000


@pytest.mark.parametrize(
    "line", ["consume t -f - -o -5 -b h:0", "consume t --format=-b -b h:0", "produce t -K- -b h:0"]
)
def test_dash_negative_number_and_text_behind_an_equals_sign_are_values(line: str) -> None:
    assert BAD_PORT in run_line(line)[0]


WORDS_OF_TABLES = (
    "--json", "--decode", "--encode", "--watch", "10s", "--cluster", "kafka-cluster", "ls", "topic", "help", "-b", "--",
)  # fmt: skip
"""Words that are names of commands or options, or options themselves."""
LINES = [
    command
    for command in read_tree().walk()
    if not command.commands and any(option.takes_value for option in command.options)
]


def valued(command: Command) -> list[str]:
    """Return the options of a command behind which a value follows."""
    return [name for option in command.options if option.takes_value for name in option.names]


def run_line(line: str, environ: Mapping[str, str] | None = None) -> list[str]:
    """Return what a mistake reports, a line each."""
    ended = run_in_process(*shlex.split(line), environ=environ)
    assert (ended.code, ended.stdout) == (2, b""), ended
    return ended.stderr.splitlines()


@pytest.mark.parametrize(("line", "reached"), WORKS)
def test_line_of_another_tool_works(line: str, reached: str) -> None:
    assert reached in run_line(line)[0]


@pytest.mark.parametrize(("line", "named"), NAMED)
def test_line_of_another_tool_names_the_right_one(line: str, named: str) -> None:
    told = next(each for each in run_line(line) if named in each)
    assert told.lower().count("did you mean") <= 1


@pytest.mark.parametrize(
    "line",
    ["profile delete p --dry-run", "profile use p --dry-run -y", "api CreateTopics {} --dry-run", "probe --dry-run"],
)
def test_dry_run_of_a_command_without_one_is_an_error(line: str) -> None:
    assert run_line(line)[0].endswith("No such option '--dry-run'.")


def parse(words: list[str]) -> tuple[str, dict[str, Any]]:
    """Return the command of a line, and the options and arguments that were given for it."""
    context: Any = command_of(root).make_context("kctl", list(words))
    while isinstance(context.command, Group) and context.invoked_subcommand != "" and words_behind(context):
        name, command, rest = context.command.resolve_command(context, words_behind(context))
        context = command.make_context(name, rest, parent=context)
    given = {name: value for name, value in context.params.items() if value not in (None, False, [], ())}
    return context.command_path, given


def words_behind(context: Any) -> list[str]:
    """Return the words that a group has left for its subcommand."""
    return [*context._protected_args, *context.args]


@pytest.mark.parametrize(
    ("line", "command"),
    [
        ("help consume", "consume"),
        ("help topics create", "topics create"),
        ("help topic ls", "topics list"),
        ("help", ""),
        ("help help consume", "consume"),
        ("-q help topic ls", "topics list"),
    ],
)
def test_help_is_a_command(line: str, command: str) -> None:
    ended = run_in_process(*shlex.split(line))
    assert (ended.code, ended.stderr) == (0, "")
    assert ended.stdout.decode().startswith(f"{f'Usage: kctl {command}'.rstrip()} ")


def test_version_is_a_command() -> None:
    assert run_in_process("version").stdout.startswith(b"kctl ")


@pytest.mark.parametrize("name", ["KAFKA_BROKERS", "BROKERS", "RPK_BROKERS"])
def test_variables_of_other_tools_lead_to_a_hint(name: str) -> None:
    lines = run_line("topics list", {name: "h:1"})
    assert lines[-1] == f"hint: set $KCTL_BOOTSTRAP_SERVERS instead of ${name}, which kctl does not read"


def test_misspelled_variable_is_named_with_the_right_one() -> None:
    lines = run_line("topics list", {"KCTL_BROKERS": "h:1"})
    assert lines[0].endswith(
        "$KCTL_BROKERS is not a known setting and is ignored. Did you mean $KCTL_BOOTSTRAP_SERVERS?"
    )


@given(st.sampled_from(LINES), st.lists(st.sampled_from(WORDS_OF_TABLES), max_size=3), st.data())
def test_value_of_an_option_is_no_name_of_a_command_or_option(
    command: Command, values: list[str], data: st.DataObject
) -> None:
    """Each line is read twice, with the value behind the option and joined with it: then it is never an option."""
    chosen = [(data.draw(st.sampled_from(valued(command))), value) for value in values]
    apart = [word for option, value in chosen for word in (option, value)]
    joined = [f"{option}={value}" if option.startswith("--") else f"{option}{value}" for option, value in chosen]
    read = [outcome([*command.path[1:], *behind]) for behind in (apart, joined)]
    if "Missing value for" in str(read[0]) and "Missing value for" not in str(read[1]):
        assert any(value.startswith("-") for value in values)  # an option of the command: the user has to write =
        return
    assert read[0] == read[1]


def outcome(words: list[str]) -> object:
    """Return what a line means, or what is wrong with it."""
    try:
        return parse(words)
    except PARSER_ERRORS as error:
        return error.format_message()


@pytest.mark.parametrize(
    ("line", "same"),
    [
        ("-b a:1 -q topics -Xa=b ls --internal", "topics list -b a:1 -q -X a=b --internal"),
        ("-b a:1 consume -- t", "consume -b a:1 t"),
        ("groups --json lag --all", "groups lag --all --json"),
        ("--json groups lag --all", "groups lag --all --json"),
        ("--output json topics --api-timeout=5s list", "topics list --output json --api-timeout 5s"),
        ("-v lag g", "groups lag g -v"),
        ("explain ls", "explain ls"),
        ("produce topic help", "produce topic help"),
        ("consume t -c 5 -e", "consume t -n 5 -e"),
        ("consume -c5 -tt", "consume t -n 5"),
        ("consume --max-messages=5 u", "consume -n 5 u"),
        ("consume x -- -c", "consume -- x -c"),
        ("consume -t - -e", "consume - -e"),
        ("consume -ue t", "consume -e t"),
        ("consume -u -e t", "consume -e t"),
        ("consume -qe -c 5 t", "consume -q -e -n 5 t"),
        ("topics delete t -yq", "topics delete t --yes -q"),
        ("topics delete t --force", "topics delete t --execute"),
        ("groups reset-offsets g --force --dry-run", "groups reset-offsets g --execute --dry-run"),
        ("groups reset-offsets --group g --topic u", "groups reset-offsets g --topic u"),
        ("configs show --entity-name x --entity-type topics", "configs show topic x"),
        ("configs show --entity-name topics --entity-type brokers", "configs show broker topics"),
        ("get topics", "topics list"),
        ("controller", "cluster quorum"),
        ("brokers ls", "cluster describe"),
        ("brokers configs 1", "configs show broker 1"),
        ("topics config t", "configs show topic t"),
        ("topics count t", "topics offsets t"),
        ("topics partitions t", "topics describe t"),
        ("topics truncate t --before end", "topics trim t --before end"),
        ("groups offsets g", "groups lag g"),
        ("groups reset g --to-latest", "groups reset-offsets g --to-latest"),
        ("groups seek g --to-latest", "groups reset-offsets g --to-latest"),
        ("describe topic t", "topics describe t"),
        ("topics --describe --topic t", "topics describe t"),
        ("topics --topic t -q --describe", "topics describe t -q"),
        ("acls list --allow-principal User:a", "acls list --principal User:a"),
    ],
)
def test_line_means_the_same_as_one_in_the_words_of_kctl(line: str, same: str) -> None:
    assert parse(line.split()) == parse(same.split())


@pytest.mark.parametrize(
    ("line", "wrong"),
    [
        ("consume -c", "Option '-c' requires an argument."),
        ("consume -t", "Option '-t' requires an argument."),
        ("consume -t -e", "Missing value for -t: the next argument '-e' looks like an option."),
        (
            "groups delete --group=--execute",
            "Missing value for --group: the next argument '--execute' looks like an option.",
        ),
        ("topics delete t --force=true", "Option '--force' does not take a value."),
        ("groups reset-offsets g --to-latest --all-topics --topic t", "--all-topics cannot be combined with --topic"),
        ("topics --nonsense list", "No such option '--nonsense'."),
        ("topics --topic t list", "No such option '--topic'."),
        ("consume t --nonsense -c 5", "No such option '--nonsense'."),
        ("acls delete --all-topics --allow a", "No such option '--all-topics'."),
    ],
)
def test_option_of_another_tool_that_is_wrong_is_named(line: str, wrong: str) -> None:
    assert wrong in run_line(line)[0]


@pytest.mark.parametrize("line", ["topics --json", "-v topics", "cluster -q", "--json pipeline", "bench -b a:1"])
def test_group_without_a_subcommand_names_no_option_that_is_right_behind_one(line: str) -> None:
    group = next(word for word in line.split() if word.isalpha())
    assert run_line(line)[0].startswith(f"Usage: kctl {group} ")


def declared(command: str) -> set[str]:
    """Return the options of a command, or of all its subcommands."""
    found: Any = typer.main.get_command(root)
    for word in command.split():
        found = found.get_command(typer.Context(found), word)
    inner = getattr(found, "commands", {})
    return {name for each in (found, *inner.values()) for option in each.params for name in option.opts}


def test_options_that_are_suggested_exist() -> None:
    shared = declared("consume")
    for command, table in OPTIONS.items():
        for typed, meant in table.items():
            option = meant.split()[0]
            if option.startswith("-"):
                assert option in (declared(command) if command else shared), (command, meant)
            assert did_you_mean(Unknown.OPTION, typed, (), command) == meant


def test_options_that_are_accepted_exist() -> None:
    shared = declared("consume")
    for command, table in ACCEPTED.items():
        for typed, meant in table.items():
            if meant and meant != ARGUMENT:
                options = declared(command) | shared | {"--execute", "--yes"}
                assert meant in options, (command, typed, meant)


def test_subcommands_that_are_written_as_flags_exist() -> None:
    for group, flags in FLAGS.items():
        for flag, subcommand in flags.items():
            assert declared(f"{group} {subcommand}"), (group, flag)


def test_commands_in_the_place_of_options_exist() -> None:
    named = {meant for command, table in OPTIONS.items() for meant in table.values() if meant.startswith(f"{command} ")}
    assert len(named) > 5
    for meant in named:
        assert declared(" ".join(meant.split(",")[0].split()[:2])), meant


def test_commands_that_are_suggested_exist() -> None:
    for meant in set(COMMANDS.values()) - {
        "groups",
        "delete",
        "describe",
        "reset-offsets",
        "create",
        "profile",
        "configs",
        "schemas",
    }:
        assert run_in_process(*meant.removeprefix("kctl ").split(), "--help").code == 0, meant


@pytest.mark.parametrize(
    ("line", "named"),
    [
        ("-b h:1 -L", "kctl does not support the kcat mode -L: use kctl probe to show brokers"),
        ("-L -b h:1", "kctl topics list"),
        ("-C t", "kctl consume TOPIC"),
        ("-b h:1 -C t", "kctl consume TOPIC"),
        ("topics list -b h:1 --api-timeout 0s", "'--api-timeout': a timeout of 0 leaves no time for requests"),
        ("topics list -b h:1 --connect-timeout 0ms", "'--connect-timeout': a timeout of 0 leaves no time"),
        ("consume t -n x", "'x' is not an integer."),
        ("topics create t -p 0", "0 is out of range: use 1 or more."),
        ("sandbox start --nodes 999", "999 is out of range: use 1 to 250."),
        ("sandbox up --nodes 999", "999 is out of range: use 1 to 250."),
        ("sandbox tell", "Missing argument 'COMMAND...'."),
        ("sandbox start --nodes x", "'x' is not an integer."),
    ],
)
def test_mistake_is_named_in_one_line(line: str, named: str) -> None:
    assert named in run_line(line)[0]
