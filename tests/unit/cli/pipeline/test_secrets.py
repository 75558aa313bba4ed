"""What of the settings goes to tasks on a cluster: references to secrets, never secrets."""

from pathlib import Path

import pytest

from kctl.cli.exit_codes import ExitCode
from kctl.cli.failures import CommandError
from kctl.cli.pipeline.spark_options import task_properties
from kctl.cli.setting import Setting


def test_a_secret_is_a_reference_to_where_it_was_found(tmp_path: Path) -> None:
    config = tmp_path / "client.properties"
    config.write_text("sasl.jaas.config=canary\n")
    settings = {
        "sasl.jaas.config": Setting("canary", str(config)),
        "ssl.key.password": Setting("canary", "$KCTL_SSL_KEY_PASSWORD"),
        "client.id": Setting("me", "-X"),
    }
    assert task_properties(settings, is_local=False) == {
        "sasl.jaas.config": f"file:{config}#sasl.jaas.config",
        "ssl.key.password": "env:KCTL_SSL_KEY_PASSWORD",
        "client.id": "me",
    }


def test_a_secret_that_workers_cannot_find_is_refused_and_not_repeated() -> None:
    settings = {"ssl.key.password": Setting("canary", "profile work")}
    with pytest.raises(CommandError, match=r"ssl.key.password of profile work on the workers") as caught:
        task_properties(settings, is_local=False)
    assert caught.value.code is ExitCode.USAGE
    assert "canary" not in f"{caught.value} {caught.value.hint}"
    assert task_properties(settings, is_local=True) == {"ssl.key.password": "canary"}
