"""Checks of a Spark master, or of a Spark Connect server, before Spark starts.

Spark reports a missing setting after a minute or never.
"""

import os
import re
import shlex
import shutil
import socket
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from kctl.client.errors import ConfigError
from kctl.grammar.properties import LARGEST_FILE_BYTES, read_properties
from kctl.pipeline.job_errors import SparkSetUpError
from kctl.pipeline.session import SessionOptions

if TYPE_CHECKING:
    from kctl.pipeline.connect_url import ConnectUrl

LAST_PORT = 65535
LONGEST_MASTER = 80
"""Maximum characters of a master in an error."""
MASTER_S = 10.0
"""Timeout of one connection attempt, in s. Spark itself tries for a minute."""
HADOOP = ("HADOOP_CONF_DIR", "YARN_CONF_DIR")
YARN_SITE = "yarn-site.xml"
RESOURCE_MANAGER = "spark.hadoop.yarn.resourcemanager."
IMAGES = ("spark.kubernetes.container.image", "spark.kubernetes.executor.container.image")
LOGIN = re.compile(r"spark\.kubernetes\.(context|authenticate\.(oauthToken|oauthTokenFile|clientKeyFile))")
"""Spark properties with Kubernetes credentials, or with the name of a kubeconfig context."""
STANDALONE = re.compile(r"(?P<host>\[[^\[\]\s/]+\]|[^\s/:]+):(?P<port>[0-9]{1,5})")
"""Address of a standalone master."""
POD_TOKEN = Path("/var/run/secrets/kubernetes.io/serviceaccount/token")


def check_master(options: SessionOptions) -> None:
    """Check the requirements of the master.

    Raises:
        ConfigError: the master is invalid.
        SparkSetUpError: a requirement is missing.
    """
    if options.master.startswith("local"):
        python = options.worker_python or os.environ.get("PYSPARK_PYTHON")
        if python and shutil.which(python) is None:
            raise SparkSetUpError(
                f"cannot find the Python interpreter for tasks: {python}", "set its path with: --worker-python PATH"
            )
    elif options.master == "yarn":
        _check_yarn(_configured(options.properties))
    elif options.master.startswith("k8s://"):
        _check_kubernetes(options.master, _configured(options.properties))
    else:
        _check_standalone(options.master)


def check_server(url: "ConnectUrl") -> None:
    """Raise SparkSetUpError if nothing listens at the address of a Spark Connect server."""
    if why := _refusal(url.address, url.host, url.port, key="remote"):
        raise SparkSetUpError(
            f"no Spark Connect server responds at {url.address}: {why}", "the default port of a server is 15002"
        )


def _check_standalone(master: str) -> None:
    refused = []
    for address in master.removeprefix("spark://").split(","):
        found = STANDALONE.fullmatch(address)
        if found is None or int(found["port"]) > LAST_PORT or not master.startswith("spark://"):
            raise _invalid(master)
        refused.append(_refusal(master, found["host"].strip("[]"), int(found["port"])))
    if all(refused):
        raise SparkSetUpError(
            f"no Spark master responds at {master}: {refused[0]}",
            "find the address of the master in the first lines of its log, such as spark://HOST:7077",
        )


def _check_yarn(properties: Mapping[str, str]) -> None:
    if any(name.startswith(RESOURCE_MANAGER) for name in properties) or _is_set_by_script(HADOOP):
        return
    given = {name: os.environ[name] for name in HADOOP if os.environ.get(name)}
    hint = "set HADOOP_CONF_DIR, such as: export HADOOP_CONF_DIR=/etc/hadoop/conf"
    if not given:
        raise SparkSetUpError(f"HADOOP_CONF_DIR is not set: Spark needs {YARN_SITE} to find YARN", hint)
    if not any(Path(folder, YARN_SITE).is_file() for folder in given.values()):
        name, folder = next(iter(given.items()))
        raise SparkSetUpError(f"no {YARN_SITE} found in the directory of {name}={folder}", hint)


def _check_kubernetes(master: str, properties: Mapping[str, str]) -> None:
    if not any(properties.get(name) for name in IMAGES):
        hint = f"set an image with pyarrow and the Python version of this machine: --spark-conf {IMAGES[0]}=IMAGE"
        raise SparkSetUpError(f"{IMAGES[0]} is not set: Spark executors on Kubernetes need an image", hint)
    configs = [Path(each) for each in os.environ.get("KUBECONFIG", "").split(os.pathsep) if each]
    known = [*(configs or [Path.home() / ".kube/config"]), POD_TOKEN]
    if not any(map(LOGIN.match, properties)) and not any(path.is_file() for path in known):
        raise SparkSetUpError(
            f"no Kubernetes credentials found in {known[0]}, and this machine is not a pod with a service account",
            "set KUBECONFIG, or add --spark-conf spark.kubernetes.authenticate.oauthTokenFile=FILE",
        )
    url = master.removeprefix("k8s://")
    try:
        parts = urlsplit(url if "://" in url else f"https://{url}")
        host, port = parts.hostname or "", parts.port or (80 if parts.scheme == "http" else 443)
    except ValueError:
        raise _invalid(master) from None
    if why := _refusal(master, host, port):
        raise SparkSetUpError(
            f"no Kubernetes API server responds at {master}: {why}",
            "show the address of the API server with: kubectl cluster-info",
        )


def _invalid(master: str, key: str = "master") -> ConfigError:
    if key == "remote":
        return ConfigError(f"invalid remote {master[:LONGEST_MASTER]!r}: use sc://HOST:PORT", key=key)
    return ConfigError(
        f"invalid master {master[:LONGEST_MASTER]!r}: use local[N], spark://HOST:PORT, yarn, or k8s://URL", key="master"
    )


def _refusal(master: str, host: str, port: int, key: str = "master") -> str:
    try:
        socket.create_connection((host, port), MASTER_S).close()
    except UnicodeError:  # a part of the host is longer than DNS allows
        raise _invalid(master, key) from None
    except OSError as e:
        return e.strerror or str(e)
    return ""


def _configured(properties: Mapping[str, str]) -> dict[str, str]:
    found: dict[str, str] = {}
    with suppress(OSError, ConfigError):
        found |= read_properties(_content("spark-defaults.conf"))
    with suppress(ValueError):
        words = shlex.split(os.environ.get("PYSPARK_SUBMIT_ARGS", ""))
        found |= dict(word.split("=", 1) for word in words if word.startswith("spark.") and "=" in word)
    return found | dict(properties)


def _is_set_by_script(names: tuple[str, ...]) -> bool:
    with suppress(OSError):
        return any(name.encode() in _content("spark-env.sh") for name in names)
    return False


def _content(name: str) -> bytes:
    home = os.environ.get("SPARK_HOME")
    folder = os.environ.get("SPARK_CONF_DIR") or (home and f"{home}/conf")
    if not folder:
        return b""
    with Path(folder, name).open("rb") as file:
        return file.read(LARGEST_FILE_BYTES)
