"""`kctl explain`: everything that has a name finds its page, and so does what kctl says of each fault."""

import inspect
import json
import re
from typing import Any

import pytest

from kctl.cli.exit_codes import ExitCode
from kctl.cli.explanations.faults import FAULTS
from kctl.cli.explanations.lookup import ERROR_CLASSES, all_pages, find_pages
from kctl.cli.explanations.probe_findings import PROBE_FINDINGS
from kctl.cli.settings import KNOWN
from kctl.client.broker_errors import BY_CODE, ErrorCode
from kctl.client.config.foreign import IGNORED, REFUSED
from kctl.client.probe import findings
from kctl.why.table import FINDINGS
from tests.support.in_process import run_in_process


def _first_line(text: str) -> str:
    pages = find_pages(text)
    assert pages, text
    return pages[0].lines()[0]


def test_each_exit_code_by_number_and_name() -> None:
    for code in ExitCode:
        for text in (str(int(code)), f"exit {int(code)}", code.name, code.name.lower().replace("_", "-")):
            assert _first_line(text) == f"exit code {int(code)} ({code.name}): {code.text}"


def test_each_error_class() -> None:
    for name, kind in ERROR_CLASSES.items():
        (page,) = find_pages(name)
        assert page.title == f"error {name}"
        assert page.means[0], "its docstring"
        facts = dict(page.facts)
        assert facts["exit code"][0].isdigit()
        assert (facts["retried automatically"] == "yes") == kind.retriable


def test_each_broker_error_by_name_class_and_number() -> None:
    for error in ErrorCode:
        if error.name in ExitCode.__members__:
            continue
        by_class = [BY_CODE[error].__name__] if error else []
        for text in (error.name, f"error {int(error)}", *by_class):
            assert _first_line(text) == f"broker error {int(error)} ({error.name})"


def test_a_number_that_is_both_names_the_other() -> None:
    (page,) = find_pages("3")
    assert page.title.startswith("exit code 3 ")
    assert page.also.startswith(
        "This number is also the broker error code UNKNOWN_TOPIC_OR_PARTITION: kctl explain UNKN"
    )
    assert page.lines()[-1].endswith("UNKNOWN_TOPIC_OR_PARTITION")


def test_each_property_and_limit() -> None:
    for name, declared in KNOWN.items():
        pages = find_pages(name)
        assert {page.name for page in pages} == {declared.name}
        facts = dict(pages[0].facts)
        assert facts["takes"] == declared.kind.accepted
        assert facts["clients"]
        assert facts["variable"] == f"KCTL_{declared.name.upper().replace('.', '_')}"
        assert find_pages(facts["variable"]) == pages
    assert _first_line("--connect-timeout").startswith("limit socket.connection.setup.timeout.ms (--connect-timeout)")


def test_page_of_a_property_has_default_option_and_clients() -> None:
    facts = dict(find_pages("connections.timeout.ms")[0].facts)
    assert facts["second name"] == "connections.timeout.ms"
    assert (facts["default"], facts["option"]) == ("10000 (10s)", "--connect-timeout")
    assert dict(find_pages("acks")[0].facts)["clients"] == "producer"
    assert dict(find_pages("connections.max.idle.ms")[0].facts)["default"].endswith("300000 (5m) (admin)")
    assert "secret" in dict(find_pages("sasl.jaas.config")[0].facts)
    assert "secret" not in dict(find_pages("acks")[0].facts)


def test_properties_of_java_that_do_nothing_here() -> None:
    for name, reason in {**IGNORED, **REFUSED}.items():
        (page,) = find_pages(name)
        assert reason in page.means[0]


def test_each_fault_by_its_number() -> None:
    for number, fault in FAULTS.items():
        assert _first_line(f"fault {number}") == _first_line(f"#{number}") == f"fault {number}: {fault.title}"


@pytest.mark.parametrize(
    ("text", "number"),
    [
        ("kctl: 127.0.0.1:9092: connection refused (RST after 3 ms) [phase tcp]", 5),
        ("connection refused", 5),
        ("no SYN-ACK within 2s (--connect-timeout) [phase tcp]", 7),
        ("bootstrap ok, but broker 1 advertises 127.0.0.1:19092: connection refused (RST after 0 ms) [phase tcp]", 30),
        ("the resolver does not respond", 2),
        ("certificate expired", 19),
    ],
)
def test_part_of_a_message_or_title_finds_the_fault(text: str, number: int) -> None:
    assert _first_line(text).startswith(f"fault {number}: ")


def test_call_that_ran_out_of_time_finds_its_last_error() -> None:
    line = "kctl topics: timed out after 3s (--api-timeout) while listing topics: waiting for an available broker"
    assert _first_line(line).startswith("fault 34: ")
    for cause, number in (
        ("nosuchhost:9092: NXDOMAIN (the name does not exist) [phase dns]", 1),
        ("a:9092: connected, but no ApiVersions response yet (--connect-timeout 10s) [phase apiversions]", 10),
    ):
        assert _first_line(f"{line}; last error: {cause}").startswith(f"fault {number}: ")


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("DEGRADED", "PARTIAL_FAILURE"),
        ("wrong peer", "WRONG_PROTOCOL"),
        ("not-able-yet", "UNAVAILABLE"),
        ("NOT_AUTHORISED", "NOT_AUTHORIZED"),
        ("certificate-ended", "certificate-expired"),
        ("certificate-ends", "certificate-expiring"),
        ("dead-bootstrap", "bootstrap-unreachable"),
        ("offset-went-back", "offset-moved-backward"),
        ("preferred-leader-away", "preferred-leader-not-leading"),
        ("  ERROR    static-ghost  group billing", "static-member-gone"),
    ],
)
def test_former_name_of_an_exit_code_or_finding_finds_its_page(text: str, name: str) -> None:
    assert [page.name for page in find_pages(text)] == [name]


@pytest.mark.parametrize(
    "text", ["WARNING group-no-members: group billing", "  ERROR    group-no-members  group billing"]
)
def test_line_of_a_finding_finds_its_page(text: str) -> None:
    assert _first_line(text).startswith("finding group-no-members: ")


@pytest.mark.parametrize("text", ["zzzz", "0.5", "fault 99", "99999", "x" * 5000, "(((", "\x1b[2J"])
def test_explain_of_an_unknown_term_is_a_usage_error(text: str) -> None:
    assert find_pages(text) == []
    ended = run_in_process("explain", text)
    assert (ended.code, ended.stdout) == (ExitCode.USAGE, b"")
    assert "cannot explain " in ended.stderr
    assert "\x1b" not in ended.stderr


def test_the_nearest_names_are_offered() -> None:
    assert "similar names: ConnectTimeout" in run_in_process("explain", "ConectTimeot").stderr


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("NOT_LEADER", "NOT_LEADER_OR_FOLLOWER"),
        ("not leader", "NOT_LEADER_OR_FOLLOWER"),
        ("`NOT_LEADER_OR`", "NOT_LEADER_OR_FOLLOWER"),
        ("LEADER_OR_FOLLOWER", "NOT_LEADER_OR_FOLLOWER"),
        ("NOT_LEADR_OR_FOLLOWER", "NOT_LEADER_OR_FOLLOWER"),
        ("NOT_LEDER", "NOT_LEADER_OR_FOLLOWER"),
        ("TOPIC_AUTH", "TOPIC_AUTHORIZATION_FAILED"),
        ("LEADER_FOR_PARTITON", "NOT_LEADER_OR_FOLLOWER"),
        ("NOT_LEADER_FOR_PARTITION", "NOT_LEADER_OR_FOLLOWER"),
        ("NotLeaderForPartitionException", "NOT_LEADER_OR_FOLLOWER"),
        ("NOT_COORDINATOR_FOR_GROUP", "NOT_COORDINATOR"),
        ("OFFSET_OUT", "OFFSET_OUT_OF_RANGE"),
        ("REQUEST_TIMED", "REQUEST_TIMED_OUT"),
    ],
)
def test_part_former_name_and_typing_mistake_of_a_broker_error_find_it(text: str, name: str) -> None:
    assert [page.name for page in find_pages(text)] == [name]


def test_each_broker_error_is_found_or_offered_by_its_first_words() -> None:
    for error in ErrorCode:
        words = error.name.split("_")
        for text in ("_".join(words[:count]) for count in range(2, len(words))):
            found = [page.name for page in find_pages(text)]
            ended = run_in_process("explain", text)
            assert found in ([error.name], [text]) or error.name in ended.stderr or ended.stderr.count(", ") >= 4, text


@pytest.mark.parametrize("text", ["UNKNOWN_TOPIC", "UNKNOWN_TOPICS", "UNKNWN_TOPIC"])
def test_name_of_an_error_that_several_have_offers_them(text: str) -> None:
    ended = run_in_process("explain", text)
    assert (ended.code, ended.stdout) == (ExitCode.USAGE, b"")
    assert "similar names: UNKNOWN_TOPIC_OR_PARTITION, UNKNOWN_TOPIC_ID" in ended.stderr


def test_the_command() -> None:
    listed = run_in_process("explain")
    assert listed.code == 0
    assert all(code.text in listed.stdout.decode() for code in ExitCode)
    assert b"fault 7:" in run_in_process("explain", "fault", "7").stdout
    assert b"limit request.timeout.ms" in run_in_process("explain", "--request-timeout").stdout


def test_broker_errors_have_causes_and_something_to_try() -> None:
    for error in ErrorCode:
        (page,) = find_pages(f"error {int(error)}")
        assert page.try_ or not error
    (page,) = find_pages("NOT_ENOUGH_REPLICAS")
    assert len(page.means) == 2
    assert page.lists == ()
    assert find_pages("error 15")[0].lists[0][1][0][0] == "35", "the fault in which it is met"


def test_list_has_every_page_once() -> None:
    names = [(page.kind, page.name) for page in all_pages() if page.kind != "limit"]
    assert len(names) == len(set(names))
    shown_list = run_in_process("explain", "--list").stdout.decode()
    assert [line for line in shown_list.splitlines() if line.endswith(":")] == [
        "Exit codes:", "Faults:", "Limits:", "Properties:", "Topic configs:", "Errors:", "Broker errors:", "Findings:",

    ]  # fmt: skip
    for page in all_pages():
        shown = page.title if page.kind in ("exit code", "fault", "broker error") else page.name
        assert f"\n  {shown}\n" in shown_list, "with its number, where it has one"
        assert find_pages(page.name)


def _rows(*asked: str) -> list[dict[str, Any]]:
    document = json.loads(run_in_process("explain", "--output", "json", *asked).stdout)
    assert (document["v"], document["kind"]) == (1, "explanations")
    rows: list[dict[str, Any]] = document["rows"]
    return rows


def test_blank_text_is_no_text() -> None:
    assert run_in_process("explain", " ") == run_in_process("explain")
    assert _rows(" ") == _rows()


def test_json_has_each_fact_of_every_page() -> None:
    for page in all_pages():
        facts = page.fields()["facts"]
        assert [line for value in facts.values() for line in value.split("\n")] == [value for _, value in page.facts]


def test_json() -> None:
    (page,) = _rows("12")
    assert (page["type"], page["name"]) == ("exit code", "CONNECT_TIMEOUT")
    assert page["try"]
    assert {"name": "7", "title": "Packets are dropped silently"} in page["see"]
    assert len(_rows()) == len(ExitCode)
    assert len(_rows("--list")) == len(all_pages())
    limits = _rows("--api-timeout")
    assert {each["name"] for each in limits} == {"default.api.timeout.ms", "max.block.ms"}


@pytest.mark.parametrize("columns", [40, 80, 200])
def test_pages_fit_the_terminal(columns: int) -> None:
    assert [line for page in all_pages() for line in page.lines(columns) if len(line) > columns] == []
    for words in (["explain"], ["explain", "--list"]):
        ended = run_in_process(*words, columns=columns, stdout_is_tty=True)
        assert [line for line in ended.stdout.decode().splitlines() if len(line) > columns] == []


def test_each_finding_of_the_probe_has_a_page() -> None:
    reported = set(re.findall(r'ProbeFinding\(\s*"([a-z-]+)"', inspect.getsource(findings)))
    assert PROBE_FINDINGS.keys() == reported - FINDINGS.keys()


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("ERROR bootstrap-unreachable 127.0.0.1:46021", "bootstrap-unreachable"),
        ("WARNING under-replicated: 3 of 9 partitions", "under-replicated"),
        ("broker-unusable", "broker-unusable"),
        ("kctl consume: cannot read all partitions: t-1: connecting to leader", "API_TIMEOUT"),
        ("cannot read all partitions", "API_TIMEOUT"),
        ("cannot read all partitions: t-1: a:1: connection refused (RST after 3 ms) [phase tcp]", "fault 5"),
    ],
)
def test_line_of_the_probe_or_of_consume_finds_its_page(text: str, name: str) -> None:
    assert [page.name for page in find_pages(text)] == [name]
