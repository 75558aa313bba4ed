"""Brokers that repeat the login in a refusal, or refuse in text that no terminal can show."""

import json
from base64 import b64encode
from collections.abc import Callable
from pathlib import Path

import pytest

from kctl.client.protocol.api.api_versions import ApiVersion, ApiVersionsResponse
from kctl.client.protocol.api.sasl import (
    SaslAuthenticateRequest,
    SaslAuthenticateResponse,
    SaslHandshakeRequest,
    SaslHandshakeResponse,
)
from kctl.client.protocol.framing import RequestFrame
from kctl.client.protocol.schema import Request, Response
from tests.sim.kit.command_lines import use_hub
from tests.sim.kit.network import ScriptedCluster
from tests.sim.kit.scripted_node import SPOKEN
from tests.sim.virtual import Hub
from tests.support.in_process import Ended, run_in_process

TOKEN = "eyJ." + "canary" * 100 + ".x"
PASSWORD = "canary'7/8"
PLAIN = (
    "sasl.mechanism=PLAIN\nsasl.jaas.config=org.apache.kafka.common.security.plain.PlainLoginModule "
    f'required username="ann" password="{PASSWORD}";\n'
)
COMMANDS = (
    "probe",
    "probe --quiet",
    "probe --output jsonl",
    "probe --output yaml",
    "probe --write-out %{error}",
    "topics list",
    "doctor",
)
ILLEGAL = 58
_SASL: tuple[type[Request], ...] = (SaslHandshakeRequest, SaslAuthenticateRequest)


def run(
    line: str, config: str, refuse: Callable[[], Response], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Ended:
    """Run a command whose broker refuses the login."""
    file = tmp_path / "config"
    file.write_text(f"security.protocol=SASL_PLAINTEXT\n{config}")

    def answer(request: RequestFrame) -> Response:
        if request.api_key == SaslHandshakeRequest.API_KEY:
            return SaslHandshakeResponse(mechanisms=["PLAIN", "OAUTHBEARER"])
        if request.api_key == SaslAuthenticateRequest.API_KEY:
            return refuse()
        spoken = [ApiVersion(api_key=cls.API_KEY, min_version=0, max_version=1) for cls in (*SPOKEN, *_SASL)]
        return ApiVersionsResponse(api_keys=spoken)

    with Hub() as hub:
        cluster = ScriptedCluster(hub)
        cluster.listen("10.0.0.1").answer = answer
        use_hub(monkeypatch, cluster)  # type: ignore[arg-type]  # its clock alone
        words = (*line.split(), "-b", "10.0.0.1:9092", "--command-config", str(file), "--api-timeout", "2s")
        return run_in_process(*words, environ={"NO_COLOR": "1"}, runtime=cluster.runtime)


@pytest.mark.parametrize("line", COMMANDS)
def test_password_that_a_broker_repeats_is_not_shown(
    line: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    sent = b64encode(f"\0ann\0{PASSWORD}".encode()).decode()
    text = f"{'y' * 300} {PASSWORD} {json.dumps(PASSWORD)} {PASSWORD!r} canary%277%2F8 {sent}"
    refusal = SaslAuthenticateResponse(error_code=ILLEGAL, error_message=text)
    ended = run(line, PLAIN, lambda: refusal, tmp_path, monkeypatch)
    shown = ended.stdout.decode() + ended.stderr
    assert ended.code == 14
    assert "***" in shown
    assert "canary" not in shown
    assert sent[8:16] not in shown


@pytest.mark.parametrize("line", COMMANDS)
def test_token_of_a_file_that_a_broker_repeats_is_not_shown(
    line: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    token = tmp_path / "token"
    token.write_text(TOKEN)
    config = f"sasl.mechanism=OAUTHBEARER\nsasl.oauthbearer.token.endpoint.url={token.as_uri()}\n"
    challenge = json.dumps({"status": f"invalid_token {TOKEN} \ud800 \udcc2\udc9b31m"}).encode()
    ended = run(line, config, lambda: SaslAuthenticateResponse(auth_bytes=challenge), tmp_path, monkeypatch)
    shown = ended.stdout.decode() + ended.stderr
    assert ended.code == 14
    assert "invalid_token *** " in shown
    assert "eyJ" not in shown
    assert "\\ud800 " in shown
    assert "\x9b" not in shown
