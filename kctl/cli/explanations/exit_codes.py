"""Meaning of exit codes and their fixes. ExitCode.text is shown in `kctl --help`."""

from typing import NamedTuple

from kctl.cli.exit_codes import ExitCode


class CodePage(NamedTuple):
    """Page of one exit code."""

    means: str
    try_: tuple[str, ...] = ()
    hint: str = ""


CODE_PAGES: dict[ExitCode, CodePage] = {
    ExitCode.OK: CodePage("The command succeeded."),
    ExitCode.UNEXPECTED: CodePage(
        "An unexpected error: a bug, or an error of a broker without a separate exit code.",
        (
            "If the message has an error code of Kafka, such as UNKNOWN_SERVER_ERROR, read its page: kctl explain CODE",
            "Otherwise add -v, and report the bug with the traceback.",
        ),
    ),
    ExitCode.USAGE: CodePage(
        "The command line, a property or a properties file is invalid, a broker refused the values, or a file "
        "or stdout cannot be read or written: it does not exist, is closed, or access is denied.",
        ("Check the option, property, or file in the message.", "kctl COMMAND --help"),
    ),
    ExitCode.PARTIAL_FAILURE: CodePage(
        "A part of the command failed, or a check found a problem: some topics, groups, or partitions failed; kctl why "
        "or kctl doctor found a warning or an error; a lag is above --threshold of kctl groups lag; kctl probe found a "
        "broker of the cluster that cannot be used, or with --strict any problem; kctl pipeline verify found that "
        "copies differ, or kctl probe report --strict has findings.",
        ("kctl prints the cause for each failed item.",),
    ),
    ExitCode.DNS: CodePage(
        "The name of a server (broker, schema registry, token endpoint) does not exist, as the resolver reports.",
        ("Check the spelling and the search domain.", "getent hosts NAME shows what this machine finds."),
        "check the name, and the search domain of the resolver",
    ),
    ExitCode.REFUSED: CodePage(
        "The server (broker, schema registry, token endpoint) refused, reset or closed the connection, or no route "
        "leads to it.",
        ("Refused: is the broker running, and on this port?", "Reset or closed: is there a proxy or a quota between?"),
    ),
    ExitCode.CONNECT_TIMEOUT: CodePage(
        "A connection was not ready within --connect-timeout. The timeout covers DNS, TCP, TLS, "
        "ApiVersions, and SASL, including the token request. The message shows the step.",
        (
            "dns: the resolver is slow, not the broker.",
            "tcp: a firewall drops packets, or the host is down.",
            "tls, apiversions, sasl: something accepts and then hangs.",
        ),
    ),
    ExitCode.TLS: CodePage(
        "The TLS handshake failed: a certificate was rejected, or client and server have no common version or cipher.",
        ("Run kctl probe to see the certificate chain of the broker and its names.",),
    ),
    ExitCode.AUTHENTICATION: CodePage(
        "The broker rejected the credentials, or requires credentials. kctl never retries rejected credentials.",
        ("Check user name, password, sasl.mechanism and security.protocol.",),
    ),
    ExitCode.WRONG_PROTOCOL: CodePage(
        "The server on that port is not a Kafka broker, does not use this security protocol, or is too old or too new "
        "for the request.",
        (
            "The message shows the first bytes of the server.",
            "kctl probe tries the other protocol once, and reports it.",
        ),
    ),
    ExitCode.REQUEST_TIMEOUT: CodePage(
        "A connected broker did not respond to a request within --request-timeout. Its connection is dropped.",
        ("Look at that broker: disk, garbage collection, request queue.",),
    ),
    ExitCode.API_TIMEOUT: CodePage(
        "The call reached --api-timeout without a single cause. The message shows a time breakdown. If one "
        "cause blocked the call, kctl exits with the code of this cause.",
        ("Give it more time with --api-timeout, or see with --trace what took it.",),
    ),
    ExitCode.ADVERTISED_ADDRESS: CodePage(
        "A bootstrap server responded, but an address that the brokers advertise is unreachable, or leads "
        "to another broker or cluster. Clients use bootstrap servers only to learn these addresses.",
        (
            "Set advertised.listeners of the broker to what clients can reach.",
            "kctl probe shows bootstrap and advertised names side by side.",
        ),
    ),
    ExitCode.UNAVAILABLE: CodePage(
        "The brokers respond but cannot serve the request now: no leader, no coordinator, or not enough replicas.",
        ("kctl topics describe shows leaders and replicas.", "It often passes: try again, or with a longer timeout."),
    ),
    ExitCode.UNDELIVERED: CodePage(
        "Some records were not delivered. The report at the end shows how many of each partition, and why.",
        ("kctl sent records but received no acknowledgment. The records may have been written.",),
    ),
    ExitCode.CLOSE_TIMEOUT: CodePage(
        "Close did not finish within --close-timeout; the data itself was handled before.",
        ("A broker stopped responding. --close-timeout sets how long close waits for it.",),
    ),
    ExitCode.NOT_AUTHORIZED: CodePage(
        "The broker knows the user and denies the request.",
        ("The principal needs an ACL for this operation on this resource.",),
        "the principal of this connection needs an ACL for that",
    ),
    ExitCode.UNKNOWN_RESOURCE: CodePage(
        "The topic, partition or group does not exist, or this principal may not see it.",
        ("kctl topics list shows the topics.", "kctl groups list shows the groups."),
    ),
    ExitCode.DATA: CodePage(
        "The data itself: a damaged batch, a record that is too large, an offset that does not exist or whose log was "
        "cut, or bytes that do not decode.",
        ("The message names topic, partition and offset.",),
    ),
    ExitCode.DISK: CodePage(
        "A file, a folder or stdout cannot be written because its disk or a quota is full, or because the disk failed.",
        (
            "Make room, and run it again: a pipeline job continues where it was.",
            "Check the directory in the message: df -h DIRECTORY shows free space.",
        ),
    ),
    ExitCode.SIGHUP: CodePage(
        "The terminal or the ssh session was closed (SIGHUP), and the command closed within --close-timeout.",
        ("To let a command outlive its terminal, start it with nohup.",),
    ),
    ExitCode.SIGINT: CodePage("Ctrl-C: the command closed within --close-timeout. A second Ctrl-C exits immediately."),
    ExitCode.SIGTERM: CodePage("SIGTERM: the command closed within --close-timeout."),
}
