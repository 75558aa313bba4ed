"""Templates of one's own."""

import re
from pathlib import Path

import pytest

from kctl.cli.probe.view.write_out import FIELDS, fill, parse_template
from tests.unit.cli.probe.view.scenario import WALL_MS, reports


def filled(template: str, number: int = 0) -> str:
    return fill(parse_template(template), reports()[number], WALL_MS)


def test_fields_escapes_and_percent_signs() -> None:
    assert filled(r"%{host}:%{port}\t%{outcome} 100%%\n") == "kafka-a.example:9092\tready 100%\n"
    assert filled(r"a\\nb\r") == "a\\nb\r"
    assert filled("") == ""


def test_write_out_of_a_ready_address_fills_every_field() -> None:
    assert filled("%{dns_ms} %{tcp_ms} %{tls_ms} %{apiversions_ms} %{sasl_ms} %{metadata_ms} %{total_ms}") == (
        "40 120 340 80  160 740"
    )
    assert filled("%{answers_as} %{advertised_as} %{cluster_id} %{controller_id} %{brokers}") == (
        "1 kafka-a.example:9092 abc 2 2"
    )
    assert filled("%{tls_version} %{cert_subject} %{cert_not_after} %{cert_days}") == (
        "TLSv1.3 CN=kafka-a.example 2023-11-24 10"
    )
    assert filled("%{idle_ms} %{idle_outcome}", 6) == "371000 ConnectionLost"


def test_write_out_of_a_failed_address_fills_outcome_and_error() -> None:
    assert filled("%{outcome} %{phase} %{error_name} %{exit_code} %{error}", 1) == (
        "failed tcp ConnectionRefused 11 connection refused (RST after 1 ms)"
    )
    assert filled("%{works_with}: %{error}", 4) == "PLAINTEXT: the peer says \\x1b[31mSSH\\x07"
    assert filled("[%{cluster_id}%{cert_subject}%{answers_as}]", 1) == "[]"


@pytest.mark.parametrize("name", list(FIELDS))
def test_every_field_can_be_asked_of_every_address(name: str) -> None:
    for one in reports():
        assert "None" not in fill(parse_template(f"%{{{name}}}"), one, WALL_MS)


@pytest.mark.parametrize(
    ("template", "words"),
    [
        ("%{hots}", "did you mean %{host}?"),
        ("%{}", "use host, port"),
        ("%h", "unexpected %h"),
        ("50%", "%% for a percent sign"),
        ("\\q", "unknown escape"),
        ("x" * 20_000, "more than 10000"),
    ],
)
def test_invalid_template_is_refused_with_a_reason(template: str, words: str) -> None:
    with pytest.raises(ValueError, match=re.escape(words)):
        parse_template(template)


def test_the_documentation_lists_every_field() -> None:
    page = (Path(__file__).parents[5] / "docs" / "probe.md").read_text()
    assert re.findall(r"^\| `%\{(\w+)\}` \|", page, re.MULTILINE) == list(FIELDS)
