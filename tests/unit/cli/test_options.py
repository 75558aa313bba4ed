"""The shared options: one declaration, the same on every command."""

import io
from typing import Annotated, Any

import pytest
import typer

from kctl.cli import click
from kctl.cli.environment import ClosingNotice, Environment, Secrets
from kctl.cli.options import DEFAULT_CLOSE_MS, Common, with_common, with_options
from kctl.cli.output_options import Output
from kctl.cli.setting import Setting
from kctl.client.clock import ManualClock
from kctl.client.config import AdminConfig, ConsumerConfig, ProducerConfig


def _parse(*arguments: str, environ: dict[str, str] | None = None) -> tuple[Common, dict[str, Any], io.StringIO]:
    taken: list[tuple[Common, dict[str, Any]]] = []
    app = typer.Typer(add_completion=False, rich_markup_mode=None)

    @app.command()
    @with_common(Output.TABLE, Output.JSON, Output.JSONL)
    def command(common: Common, own: Annotated[str, typer.Option("--own")] = "mine") -> int:
        """Do nothing."""
        taken.append((common, {"own": own}))
        return 0

    stderr = io.StringIO()
    environment = Environment(
        io.BytesIO(),
        io.BytesIO(),
        stderr,
        environ or {},
        ManualClock(),
        closing_notice=ClosingNotice(),
        secrets=Secrets(),
    )
    with typer.main.get_command(app).make_context("command", list(arguments), obj=environment) as ctx:
        ctx.command.invoke(ctx)
    return *taken[0], stderr


def test_nothing_given() -> None:
    common, own, _ = _parse()
    assert dict(common.settings.by_name) == {}
    assert (common.close_timeout_ms, common.output, common.quiet, common.verbose) == (
        DEFAULT_CLOSE_MS, None, False, False,
    )  # fmt: skip
    assert own == {"own": "mine"}


def test_everything_given() -> None:
    common, own, _ = _parse(
        "-b", "a:1,b:2", "--bootstrap", "c:3", "--api-timeout", "5s", "--connect-timeout", "500ms",
        "--request-timeout", "1m", "--close-timeout", "2s", "--security-protocol", "SSL", "-X", "client.id=me",
        "--output", "jsonl", "-q", "-v", "--own", "other",
    )  # fmt: skip
    assert dict(common.settings.by_name) == {
        "bootstrap.servers": Setting("a:1,b:2,c:3", "--bootstrap"),
        "default.api.timeout.ms": Setting(5000, "--api-timeout"),
        "max.block.ms": Setting(5000, "--api-timeout"),
        "socket.connection.setup.timeout.ms": Setting(500, "--connect-timeout"),
        "request.timeout.ms": Setting(60000, "--request-timeout"),
        "security.protocol": Setting("SSL", "--security-protocol"),
        "client.id": Setting("me", "-X"),
    }
    assert (common.close_timeout_ms, common.output, common.quiet, common.verbose) == (2000, Output.JSONL, True, True)
    assert own == {"own": "other"}


@pytest.mark.parametrize("kind", [ConsumerConfig, ProducerConfig, AdminConfig])
def test_limits_reach_every_kind_of_client(kind: type[AdminConfig]) -> None:
    common, _, _ = _parse("-b", "a:1", "--api-timeout", "5s", "--connect-timeout", "2s", "--request-timeout", "3s")
    config = common.settings.parse(kind)
    assert config.api_timeout_ms == 5000
    assert config.socket_connection_setup_timeout_ms == 2000
    assert config.request_timeout_ms == 3000


@pytest.mark.parametrize("flag", ["--api-timeout", "--connect-timeout", "--request-timeout", "--close-timeout"])
def test_a_bare_number_is_refused(flag: str) -> None:
    with pytest.raises(click.BadParameter) as e:
        _parse(flag, "5")
    assert flag in e.value.format_message()
    assert "5s for seconds or 5ms for milliseconds" in e.value.format_message()


def test_output_is_chosen_among_what_a_command_offers() -> None:
    common, _, _ = _parse()
    assert common.choose_output(Output.TABLE, Output.JSON) is Output.TABLE
    common, _, _ = _parse("--output", "json")
    assert common.choose_output(Output.TABLE, Output.JSON) is Output.JSON
    with pytest.raises(click.UsageError, match="--output json: this command offers jsonl"):
        common.choose_output(Output.JSONL)
    with pytest.raises(click.UsageError, match="--output csv: this command offers table, json, jsonl"):
        _parse("--output", "csv")


def test_variables_without_meaning_are_told_unless_quiet() -> None:
    _, _, stderr = _parse(environ={"KCTL_ACK": "1"})
    assert "$KCTL_ACK is not a known setting and is ignored. Did you mean $KCTL_ACKS?" in stderr.getvalue()
    _, _, stderr = _parse("-q", environ={"KCTL_ACK": "1"})
    assert stderr.getvalue() == ""


def test_properties_that_do_nothing_here_are_told() -> None:
    common, _, stderr = _parse("-b", "a:1", "-X", "acks=1", "--api-timeout", "5s", environ={"KCTL_LINGER_MS": "1"})
    common.note_ignored(common.settings.parse(ConsumerConfig))
    assert stderr.getvalue() == "kctl: note: acks from -X is ignored: it is a property of the producer\n"
    common, _, stderr = _parse("-b", "a:1", "-v", environ={"KCTL_LINGER_MS": "1"})
    common.note_ignored(common.settings.parse(ConsumerConfig))
    assert "linger.ms from $KCTL_LINGER_MS is ignored" in stderr.getvalue()


def test_sasl_mechanism_without_sasl_in_the_security_protocol_is_noted() -> None:
    common, _, stderr = _parse("-b", "a:1", "-X", "sasl.mechanism=PLAIN")
    common.note_ignored(common.settings.parse(ConsumerConfig))
    assert (
        stderr.getvalue()
        == "kctl: note: sasl.mechanism from -X is ignored: security.protocol=PLAINTEXT does not use SASL\n"
    )
    jaas = 'org.apache.kafka.common.security.plain.PlainLoginModule required username="a" password="b";'
    common, _, stderr = _parse(
        "-b",
        "a:1",
        "-X",
        "sasl.mechanism=PLAIN",
        "--security-protocol",
        "SASL_SSL",
        environ={"KCTL_SASL_JAAS_CONFIG": jaas},
    )
    common.note_ignored(common.settings.parse(ConsumerConfig))
    assert stderr.getvalue() == ""


def test_options_that_some_commands_share_come_as_what_they_mean() -> None:
    taken: list[tuple[str, int, str]] = []
    app = typer.Typer(add_completion=False, rich_markup_mode=None)

    def size(
        width: Annotated[int, typer.Option("--width")] = 2, height: Annotated[int, typer.Option("--height")] = 3
    ) -> int:
        if width < 0:
            raise click.BadParameter("too narrow", param_hint="'--width'")
        return width * height

    def colour(colour: Annotated[str, typer.Option("--colour")] = "red") -> str:
        return colour.upper()

    @app.command()
    @with_common(Output.TABLE)
    @with_options(area=size, paint=colour)
    def command(common: Common, area: int, paint: str, own: Annotated[str, typer.Option("--own")] = "mine") -> int:
        """Paint it."""
        assert common.output is None
        taken.append((own, area, paint))
        return 0

    built = typer.main.get_command(app)
    assert [p.name for p in built.params][:5] == ["own", "width", "height", "colour", "bootstrap"]
    assert built.help == "Paint it."
    environment = Environment(
        io.BytesIO(), io.BytesIO(), io.StringIO(), {}, ManualClock(), closing_notice=ClosingNotice(), secrets=Secrets()
    )
    for arguments in ([], ["--height", "7", "--own", "x", "--colour", "blue"]):
        with built.make_context("command", arguments, obj=environment) as ctx:
            built.invoke(ctx)
    assert taken == [("mine", 6, "RED"), ("x", 14, "BLUE")]
    with (
        pytest.raises(click.BadParameter, match="too narrow"),
        built.make_context("command", ["--width", "-1"], obj=environment) as ctx,
    ):
        built.invoke(ctx)


def test_control_characters_of_a_broker_do_not_reach_the_terminal() -> None:
    common, _, stderr = _parse()
    common.say("kctl consume: waiting: leader [a\x1b[31mX\x07]:9092")
    assert stderr.getvalue() == "kctl consume: waiting: leader [a\\x1b[31mX\\x07]:9092\n"


@pytest.mark.parametrize(("api_timeout", "limit"), [("60s", "5s (--fail-fast)"), ("5s", ""), ("1s", "")])
def test_notices_name_fail_fast_only_where_it_ends_the_call(api_timeout: str, limit: str) -> None:
    common, _, _ = _parse("-v", "--api-timeout", api_timeout)
    assert common.notices is not None
    assert common.fail_fast_settings.by_name["bootstrap.refused.timeout.ms"].text == "5000"
    assert str(common.notices.refused_limit or "") == limit


def test_fail_fast_of_too_many_digits_is_left_to_the_check_of_properties() -> None:
    common, _, _ = _parse("-v", "-X", f"bootstrap.refused.timeout.ms={'9' * 5000}")
    assert common.notices is not None
    assert len(common.fail_fast_settings.by_name["bootstrap.refused.timeout.ms"].text) == 5000
    assert common.notices.refused_limit is None
