"""Command lines as people type them who come from other tools: each works, or one line names what to type."""

import shlex
from collections.abc import Mapping
from typing import Any

import pytest
import typer
from hypothesis import given
from hypothesis import strategies as st

from kctl.cli.app import root
from kctl.cli.command_tree import Command, read_tree
from kctl.cli.spellings import ARGUMENT, FLAGS, rewrite, translate
from kctl.cli.spellings import OPTIONS as ACCEPTED
from kctl.cli.suggestions import COMMANDS, OPTIONS, Unknown, did_you_mean
from tests.support.in_process import run_in_process

NO_SERVERS = "bootstrap.servers is not set"
"""The first thing that is wrong with a command line which is right but for the cluster."""
BAD_PORT = "entry 'h:0': a port is from 1 to 65535"
"""What is wrong with the server h:0: it shows that the option with it was read."""

WORKS = [
    ("consume t -n 5 -o -5", NO_SERVERS),
    ("consume t -o end -f '%v'", NO_SERVERS),
    ("consume t -o s@1700000000000", NO_SERVERS),
    ("consume t --from-beginning", NO_SERVERS),
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
    ("topics --bootstrap-server h:0 list", BAD_PORT),
    ("topics --bootstrap-server=h:0 ls", BAD_PORT),
    ("-v --api-timeout 5s topics list -b h:0", BAD_PORT),
    ("--json topics list -b h:0", BAD_PORT),
    ("--json -b h:0 consume t", BAD_PORT),
    ("topics --json list -b h:0", BAD_PORT),
    ("consume t --brokers h:0", BAD_PORT),
    ("probe --bootstrap-servers h:0", BAD_PORT),
    ("consume t -b kafka://h:0", "entry 'kafka://h:0': a port is from 1 to 65535"),
    ("-C p topics list", "there is no profile 'p'"),
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
    ("probe h:0", "entry 'h:0': a port is from 1 to 65535"),
    ("ping [::1]:0 --json", "entry '[::1]:0': a port is from 1 to 65535"),
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
    ("consume t -o 2026-11-22", "'2026-11-22' is a time: write @2026-11-22"),
    ("consume t --since 2w", "Invalid value for '--since': '2w' is not a time"),
    ("consume t -o -2w", "'2w' is not a duration"),
    (r"consume t -K '\q'", "Invalid value for '--key-separator' / '-K': unknown escape"),
    (r"consume t -D '\q'", "Invalid value for '--delimiter' / '-D': unknown escape"),
    ("consume t --api-timeout 5", "write 5s for seconds"),
    ("produce t -H a:b", "write a=b"),
    ("produce t --rate 5", "5/s"),
    ("consume t -b 'a:1 b:2'", "separate them with commas, a:1,b:2"),
    ("consume t -b 'a:1;b:2'", "separate them with commas, a:1,b:2"),
    ("consume t -b ::1:9092", "write the address in brackets"),
    ("consume t -b h:1 -X metadata.broker.list=a:1", "did you mean bootstrap.servers?"),
    ("consume t -b h:1 -X brokers=a:1", "did you mean bootstrap.servers?"),
    ("produce t -b h:1 -X message.timeout.ms=5", "did you mean delivery.timeout.ms?"),
    ("produce t -b h:1 -X request.timeot.ms=5", "did you mean request.timeout.ms?"),
    ("consume t -X sasl.username=alice", "sasl.username needs sasl.password: $KCTL_SASL_PASSWORD"),
    ("topics lst", "Did you mean 'list'?"),
    ("topics --topic list", "No such option '--topic'."),
    ("quotas --add", "Did you mean 'quotas set KEY=VALUE'?"),
    ("list", "Did you mean 'topics list'?"),
    ("topics create t -b --api-timeout 2s", "'--api-timeout' looks like an option: the servers before it are missing"),
    ("cluster nonsense", "There are: describe, quorum."),
    ("-L -b h:1", "kctl probe shows the brokers"),
    ("-b h:1 --bogus", "No such option '--bogus'."),
    ("-b h:1", "Missing command. To check the connection, run: kctl probe -b HOST:PORT."),
    ("-b=h:1", "Missing command. To check the connection, run: kctl probe -b HOST:PORT."),
    ("why orders billing", "kctl why takes one name. Run kctl why orders and kctl why billing."),
    ("why orders billing --output json", "kctl why takes one name. Run kctl why orders and kctl why billing."),
    ("why grup billing", "No such command 'grup'. Did you mean 'group'?"),
    ("-t t -P -l f", "Did you mean 'FILE: each line is a record'?"),
    ("topics delete-records t", "Did you mean 'topics trim'?"),
    ("kafka-delete-records.sh --offset-json-file f", "Did you mean 'topics trim'?"),
    ("partitions move p.json --execute", "Did you mean 'partitions move PLAN, which moves immediately'?"),
    ("quotas set --entity-name ann producer_byte_rate=1", "Did you mean '--user NAME'?"),
    ("quotas set producer_byte_rat=1 --user ann", "is not a quota: did you mean producer_byte_rate?"),
    ("quotas unset xyz --user ann", "'xyz' is not a quota: there are producer_byte_rate, "),
    ("consume --decode orders -e", "Invalid value for '--decode': 'orders' is not one of auto, avro"),
    ("produce t --encode -e", "'-e' looks like an option: the schema before it is missing"),
    ("topics list --json --output yaml", "--json is --output json, and cannot be combined with --output yaml."),
    ("produce t --encode avr", "'avr': did you mean avro? A subject of that name is subject:avr."),
    ("doctor --watch --interval 0", "Invalid value for '--interval': '0' has no unit"),
    ("doctor --interval 0s", "Invalid value for '--interval': the two checks must be at least 1s apart."),
    ("doctor --watch --interval 0s", "Invalid value for '--interval': the two checks must be at least 1s apart."),
    ("produce t --encode value=msgpak", "'msgpak': did you mean msgpack?"),
]  # fmt: skip

WORDS_OF_SPELLINGS = (
    "--json", "--decode", "--encode", "--watch", "10s", "--cluster", "kafka-cluster", "ls", "topic", "help", "-b", "--",
)  # fmt: skip
"""Words that mean something to the spellings, or to an option."""
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


@pytest.mark.parametrize("line", ["help consume", "help topics create", "help topic ls", "help", "version"])
def test_help_and_version_are_commands(line: str) -> None:
    ended = run_in_process(*shlex.split(line))
    assert ended.code == 0
    told = ended.stdout.decode()
    words = rewrite(shlex.split(line))
    assert told.startswith(" ".join(["Usage: kctl", *words[:-1]]) if "help" in line else "kctl ")


@pytest.mark.parametrize("name", ["KAFKA_BROKERS", "BROKERS", "RPK_BROKERS"])
def test_variables_of_other_tools_lead_to_a_hint(name: str) -> None:
    lines = run_line("topics list", {name: "h:1"})
    assert lines[-1] == f"hint: ${name} is not read by kctl: set $KCTL_BOOTSTRAP_SERVERS"


def test_misspelled_variable_is_named_with_the_right_one() -> None:
    lines = run_line("topics list", {"KCTL_BROKERS": "h:1"})
    assert lines[0].endswith(
        "$KCTL_BROKERS is not a known setting and is ignored; did you mean $KCTL_BOOTSTRAP_SERVERS?"
    )


@pytest.mark.parametrize(
    "words",
    [
        ["consume", "t", "-b", "a:1"],
        ["consume", "--", "-b"],
        ["explain", "--request-timeout"],
        ["explain", "ls"],
        ["--help"],
        ["-V", "consume"],
        ["produce", "topic", "help"],
        ["groups", "list", "topic"],
        ["topics", "--nonsense", "list"],
        ["probe", "report", "f"],
        [],
    ],
)
def test_line_in_the_words_of_kctl_stays_as_it_is(words: list[str]) -> None:
    assert rewrite(words) == words
    assert rewrite(rewrite(words)) == words


@given(st.sampled_from(LINES), st.lists(st.sampled_from(WORDS_OF_SPELLINGS), max_size=3), st.data())
def test_words_behind_a_command_are_not_changed(command: Command, values: list[str], data: st.DataObject) -> None:
    behind = [word for value in values for word in (data.draw(st.sampled_from(valued(command))), value)]
    assert rewrite([*command.path[1:], *behind]) == [*command.path[1:], *behind]


def test_shared_options_move_behind_the_command() -> None:
    assert rewrite(["-b", "a:1", "-q", "topics", "-Xa=b", "ls", "--internal"]) == [
        "topics", "list", "-b", "a:1", "-q", "-Xa=b", "--internal",
    ]  # fmt: skip
    assert rewrite(["-b", "a:1", "consume", "--", "t"]) == ["consume", "-b", "a:1", "--", "t"]
    assert rewrite(["-b"]) == ["-b"]
    assert rewrite(["sandbox", "--json", "status"]) == ["sandbox", "status", "--json"]
    assert rewrite(["--json", "groups", "lag", "--all"]) == ["groups", "lag", "--json", "--all"]


@pytest.mark.parametrize("line", ["topics --json", "-v topics", "cluster -q", "--json pipeline", "bench -b a:1"])
def test_group_without_a_subcommand_names_no_option_that_is_right_behind_one(line: str) -> None:
    assert rewrite(line.split()) == [next(word for word in line.split() if word.isalpha())]


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


KNOWN = {
    "--max": 1, "-n": 1, "-e": 0, "-o": 1, "--execute": 0, "--yes": 0, "--topic": 1, "--resolve": 2, "-q": 0,
}  # fmt: skip


@pytest.mark.parametrize(
    ("command", "line", "expected"),
    [
        ("consume", "-t t -c 5 -e", "t -n 5 -e"),
        ("consume", "-c5 -tt", "t -n 5"),
        ("consume", "--max-messages=5 u", "-n 5 u"),
        ("consume", "-o -c", "-o -c"),
        ("consume", "--resolve -c -t x -c 1", "--resolve -c -t x -n 1"),
        ("consume", "x -- -c 5", "x -- -c 5"),
        ("consume", "-c", "-n"),
        ("consume", "-t", "-t"),
        ("consume", "-t -e", "-t -e"),
        ("consume", "-t-e u", "-t-e u"),
        ("consume", "-t - -e", "- -e"),
        ("consume", "-ue", "-e"),
        ("topics delete", "t -yq", "t --yes -q"),
        ("topics delete", "t -yyq", "t --yes --yes -q"),
        ("topics delete", "t --force=true", "t --force=true"),
        ("groups delete", "g --group=--execute", "g --group=--execute"),
        ("consume", "-qe -c 5", "-qe -n 5"),
        ("consume", "-u -e", "-e"),
        ("consume", "--nonsense -c 5", "--nonsense -n 5"),
        ("groups reset-offsets", "g --dry-run", "g --dry-run"),
        ("groups reset-offsets", "g --force --dry-run", "g --execute --dry-run"),
        ("configs show", "--entity-name x --entity-type topics", "topic x"),
        ("configs show", "--entity-name topics --entity-type brokers", "broker topics"),
        ("acls delete", "--all-topics --allow a", "--all-topics --allow a"),
        ("groups reset-offsets", "g --dry-run --execute", "g --dry-run --execute"),
        ("groups reset-offsets", "g --all-topics --topic t", "g --all-topics --topic t"),
        ("groups reset-offsets", "--group g --all-topics", "g"),
    ],
)
def test_options_of_other_tools_are_translated(command: str, line: str, expected: str) -> None:
    assert translate(line.split(), KNOWN, command) == expected.split()


def test_help_of_help_is_help() -> None:
    assert rewrite(["help"] * 5000 + ["consume"]) == ["consume", "--help"]


def test_subcommands_that_are_written_as_flags_exist() -> None:
    for group, flags in FLAGS.items():
        for flag, subcommand in flags.items():
            assert declared(f"{group} {subcommand}"), (group, flag)


def test_argument_of_a_subcommand_is_not_taken_from_its_group() -> None:
    assert translate(["--topic", "t", "list"], {}, "topics", is_group=True) == ["--topic", "t", "list"]


def test_words_of_a_subcommand_are_not_translated_for_its_group() -> None:
    assert translate(["-c", "5", "list", "-c", "5"], KNOWN, "consume", is_group=True) == ["-n", "5", "list", "-c", "5"]


def test_commands_in_the_place_of_options_exist() -> None:
    named = {meant for command, table in OPTIONS.items() for meant in table.values() if meant.startswith(f"{command} ")}
    assert len(named) > 20
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
        ("-b h:1 -L", "-L of kcat is a command here: kctl probe"),
        ("-L -b h:1", "kctl topics list"),
        ("-C t", "kctl consume TOPIC"),
        ("-b h:1 -C t", "kctl consume TOPIC"),
        ("topics list -b h:1 --api-timeout 0s", "'--api-timeout': 0 leaves no time for a request"),
        ("topics list -b h:1 --connect-timeout 0ms", "'--connect-timeout': 0 leaves no time"),
        ("consume t -n x", "'x' is not a whole number."),
        ("topics create t -p 0", "0 is not allowed: at least 1."),
        ("sandbox start --nodes 999", "999 is not allowed: from 1 to 250."),
        ("sandbox up --nodes 999", "999 is not allowed: from 1 to 250."),
        ("sandbox tell", "Missing argument 'COMMAND...'."),
        ("sandbox start --nodes x", "'x' is not a whole number."),
    ],
)
def test_mistake_is_named_in_one_line(line: str, named: str) -> None:
    assert named in run_line(line)[0]
