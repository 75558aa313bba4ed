"""Table of commands: measured command lines, the growing part of the cluster, and allowed exponents of each cost.

The input of each line grows with the size.
"""

from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

from tests.support.growth import Exponents

FLAT, ONCE, EACH = Exponents(0, 0, 0), Exponents(1, 0, 1), Exponents(1, 1, 1)
"""Nothing grows; lines and bytes grow with the size, requests do not; all three grow with the size."""


OF_ALL_BROKERS = Exponents(1.25, 1, 2)
"""Each broker reports all brokers."""
OF_MORE_REQUESTS = Exponents(1.25, 0, 1)
"""The largest size needs two requests more than the smallest one."""


class Row(NamedTuple):
    """One measured line.

    Attributes:
        scene: a key of `SCENES`.
        line: {n} is the size, {names} are n names, and {file} is the path of a file with the input.
        name: how each of the names is made of its number.
        stdin: the input of the command.
    """

    scene: str
    line: str
    exponents: Exponents
    name: str = "t{}"
    stdin: Callable[[int], bytes] = lambda _n: b""

    def words(self, n: int, file: Path) -> str:
        """Return the command line of size n."""
        return self.line.format(n=n, file=file, names=" ".join(self.name.format(number) for number in range(n)))

    @property
    def command(self) -> str:
        """Return the name of the command."""
        words = self.line.split()
        return " ".join(words[:1] if words[0] in ONE_WORD else words[:2])


ONE_WORD = ("consume", "produce", "probe", "doctor", "apply", "api")


def _declared(n: int) -> bytes:
    return b"topics:\n" + b"".join(b"- {name: t%d, configs: {retention.ms: 5}}\n" % number for number in range(n))


def _ruled(n: int) -> bytes:
    rule = b"- {principal: 'User:u%d', operation: read, resource_type: topic, name: t%d}\n"
    return b"acls:\n" + b"".join(rule % (number, number) for number in range(n))


def _plan(n: int) -> bytes:
    parts = ", ".join(f'{{"topic": "t", "partition": {number}, "replicas": [2]}}' for number in range(n))
    return f'{{"version": 1, "partitions": [{parts}]}}'.encode()


def _lines(n: int) -> bytes:
    return b"".join(b"%d\n" % number for number in range(40 * n))


def _json_lines(n: int) -> bytes:
    return b"".join(b'{"value": "%d"}\n' % number for number in range(40 * n))


ROWS = (
    Row("records", "consume t -e", ONCE),
    Row("partitions", "consume t -e", ONCE),
    Row("records", "consume t -e -g other", ONCE),
    Row("records", "consume t --tail {n}0", ONCE),
    Row("arguments", "produce t", ONCE, stdin=_lines),
    Row("arguments", "produce t -i jsonl", ONCE, stdin=_json_lines),
    Row("brokers", "probe", OF_ALL_BROKERS),
    Row("brokers, half of them refuse", "probe", OF_ALL_BROKERS),
    Row("topics", "topics list", ONCE),
    Row("partitions", "topics list", ONCE),
    Row("topics", "topics describe /.*/", ONCE),
    Row("topics", "topics describe {names} --configs", ONCE),
    Row("partitions", "topics describe t", ONCE),
    Row("topics", "topics describe t0", FLAT),
    Row("arguments", "topics create {names}", ONCE, "new{}"),
    Row("topics", "topics alter {names} --config retention.ms=1", ONCE),
    Row("partitions", "topics offsets t", ONCE),
    Row("partitions", "topics trim t --before end --execute", ONCE),
    Row("topics", "topics delete {names} --execute", ONCE),
    Row("groups", "groups list", ONCE),
    Row("groups", "groups describe {names}", ONCE, "g{}"),
    Row("offsets", "groups describe g", ONCE),
    Row("groups", "groups lag --all", ONCE),
    Row("offsets", "groups lag g", ONCE),
    Row("groups", "groups lag g0", FLAT),
    Row("groups", "groups members {names}", ONCE, "g{}"),
    Row("groups", "groups delete {names} --execute", ONCE, "g{}"),
    Row("offsets", "groups reset-offsets g --to-earliest --execute", ONCE),
    Row("offsets", "groups delete-offsets g --topic t --execute", ONCE),
    Row("groups", "groups remove-members s --instance one --execute", FLAT),
    Row("transactions", "transactions list", ONCE),
    Row("transactions", "transactions describe {names}", ONCE, "x{}"),
    Row("transactions", "transactions hanging", FLAT),
    Row("partitions", "transactions hanging --topic t --all", ONCE),
    Row("transactions", "transactions abort t:0 --execute", FLAT),
    Row("topics", "configs show topic t0", FLAT),
    Row("topics", "configs set topic t0 retention.ms=1", FLAT),
    Row("topics", "configs unset topic t0 retention.ms", FLAT),
    Row("rules", "acls list", ONCE),
    Row("arguments", "acls create --allow User:a --operation read {names}", EACH, "--topic t{}"),
    Row("rules", "acls delete --operation read --execute", ONCE),
    Row("rules", "acls check User:u0 --topic t0 --operation read", FLAT),
    Row("users", "users list", ONCE),
    Row("users", "users create bob --password-from env:SECRET", ONCE),
    Row("users", "users alter u0 --password-from env:SECRET", ONCE),
    Row("users", "users delete {names} --execute", ONCE, "u{}"),
    Row("quotas", "quotas list", ONCE),
    Row("quotas", "quotas describe --user u0", ONCE),
    Row("quotas", "quotas set --user u0 producer_byte_rate=1MB", ONCE),
    Row("quotas", "quotas unset --user u0 producer_byte_rate", ONCE),
    Row("brokers", "cluster describe", ONCE),
    Row("topics", "cluster describe", ONCE),
    Row("brokers", "cluster quorum", ONCE),
    Row("brokers", "brokers log-dirs", Exponents(1, 1, 1)),
    Row("partitions", "brokers log-dirs", ONCE),
    Row("groups", "why group g0", FLAT),
    Row("offsets", "why group g", ONCE),
    Row("topics", "why topic t0", FLAT),
    Row("partitions", "why topic t", ONCE),
    Row("topics", "why cluster", ONCE),
    Row("brokers", "why cluster", OF_ALL_BROKERS),
    Row("topics", "doctor", ONCE),
    Row("partitions", "doctor", ONCE),
    Row("groups", "doctor", OF_MORE_REQUESTS),
    Row("groups of topics", "doctor", ONCE),
    Row("rules", "doctor", FLAT),
    Row("transactions", "doctor", ONCE),
    Row("topics", "apply -f -", ONCE, stdin=_declared),
    Row("arguments", "apply -f -", ONCE, stdin=_declared),
    Row("rules", "apply -f - --prune", ONCE, stdin=_ruled),
    Row("arguments", "apply -f -", ONCE, stdin=_ruled),
    Row("rules", "apply --export", ONCE),
    Row("topics", "apply --export", ONCE),
    Row("partitions", "partitions plan t --to-brokers 1,2", ONCE),
    Row("partitions", "partitions plan t --exclude-brokers 3", ONCE),
    Row("partitions", "partitions move {file}", ONCE, stdin=_plan),
    Row("partitions", "partitions list", FLAT),
    Row("partitions", "partitions elect --all --execute", ONCE),
    Row("topics", "wait topic {names}", ONCE),
    Row("brokers", "wait brokers {n}", ONCE),
    Row("groups", "wait group g0 --state Empty", FLAT),
    Row("groups", "api ListGroups", Exponents(0, 0, 1)),
    Row("arguments", "bench produce -n {n} --topic t", ONCE),
    Row("records", "bench consume -n {n} --topic t", Exponents(0, 0, 1)),
    Row("arguments", "bench end-to-end -n {n} --topic t", EACH),
)
WITHOUT_A_CLUSTER = {
    "probe report", "completion", "explain", "help-json", "options", "pipeline", "profile", "sandbox", "schemas",
}  # fmt: skip
"""Commands, or groups of commands, that read files or other servers, or run on Spark."""
