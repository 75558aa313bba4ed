import os
from pathlib import Path

import pytest

from kctl.cli.profiles.files import read_profile_file
from kctl.cli.settings import read_settings_file
from kctl.client.clock import ManualClock
from kctl.client.config import AdminConfig, read_input
from kctl.client.errors import AuthenticationError, ConfigError
from kctl.client.security.sasl.oauthbearer import token_source_from_config
from kctl.client.security.tls.stores import read_store

NOT_WRITTEN = "the file is a pipe without a writer"


@pytest.fixture
def pipe(tmp_path: Path) -> Path:
    """A FIFO that nobody writes to."""
    path = tmp_path / "pipe"
    os.mkfifo(path)
    return path


def test_pipe_without_a_writer_is_refused_instead_of_waited_for(pipe: Path) -> None:
    with pytest.raises(OSError, match=NOT_WRITTEN):
        read_input(pipe, 10)


def test_command_config_and_profiles_name_a_pipe_without_a_writer(pipe: Path) -> None:
    with pytest.raises(ConfigError, match=f"--command-config {pipe}: {NOT_WRITTEN}"):
        read_settings_file(pipe, "--command-config")
    with pytest.raises(ConfigError, match=f"{pipe}: {NOT_WRITTEN}"):
        read_profile_file(pipe)


def test_stores_and_tokens_name_a_pipe_without_a_writer(pipe: Path) -> None:
    servers = {"bootstrap.servers": "a:1"}
    config = AdminConfig.parse({**servers, "security.protocol": "SSL", "ssl.truststore.location": str(pipe)})
    with pytest.raises(ConfigError, match=f"ssl.truststore.location={pipe} cannot be read: {NOT_WRITTEN}"):
        read_store(config, AdminConfig.ssl_truststore_location, AdminConfig.ssl_truststore_type, has_key=False)
    sasl = {"security.protocol": "SASL_PLAINTEXT", "sasl.mechanism": "OAUTHBEARER"}
    config = AdminConfig.parse({**servers, **sasl, "sasl.oauthbearer.token.file": str(pipe)})
    with pytest.raises(AuthenticationError, match=f"cannot read the token file {pipe}: {NOT_WRITTEN}"):
        token_source_from_config(config, None, ManualClock())()


def test_pipe_of_a_process_substitution_is_read_up_to_the_bound() -> None:
    reader, writer = os.pipe()
    os.write(writer, b"a=1\nb=2\n")
    os.close(writer)
    try:
        assert read_input(Path(f"/dev/fd/{reader}"), 5)[0] == b"a=1\nb"
    finally:
        os.close(reader)


def test_null_device_is_an_empty_file() -> None:
    assert read_input(Path("/dev/null"), 5)[0] == b""
