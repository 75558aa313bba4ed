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
        "An unexpected error: a bug in kctl, or a broker error without its own exit code.",
        (
            "If the message has a Kafka error code, such as UNKNOWN_SERVER_ERROR, run: kctl explain CODE",
            "Otherwise, add -v, and report the bug with its traceback.",
        ),
    ),
    ExitCode.USAGE: CodePage(
        "The command line, a property, or a properties file is invalid, or a broker rejected the values. Or a "
        "file or stdout cannot be read or written: it does not exist, is closed, or access is denied.",
        (
            "Check the option, property, or file in the message.",
            ("Show the options of a command with: kctl COMMAND --help"),
        ),
    ),
    ExitCode.PARTIAL_FAILURE: CodePage(
        "Part of the command failed, or a check found a problem. Examples: some topics, groups, or partitions "
        "failed. kctl why or kctl doctor found a warning or an error. A lag exceeds --threshold of kctl groups "
        "lag. kctl probe found an unusable broker, or any problem with --strict. kctl pipeline verify found "
        "differences. kctl probe report --strict has findings.",
        ("Read the cause of each failed item in the output.",),
    ),
    ExitCode.DNS: CodePage(
        "The name of a server (broker, schema registry, token endpoint) does not exist.",
        ("Check the spelling and the DNS search domain.", "Show the addresses of a name with: getent hosts NAME"),
        "check the spelling of the name, and the DNS search domain",
    ),
    ExitCode.REFUSED: CodePage(
        "The server (broker, schema registry, token endpoint) refused, reset, or closed the connection, or the "
        "host is unreachable.",
        (
            "Refused: check that the broker runs, and that it uses this port.",
            ("Reset or closed: check proxies between client and broker, and connection quotas."),
        ),
    ),
    ExitCode.CONNECT_TIMEOUT: CodePage(
        "A connection was not ready within --connect-timeout. The timeout covers DNS, TCP, TLS, "
        "ApiVersions, and SASL, including the token request. The message shows the step.",
        (
            "dns: the resolver is slow, not the broker.",
            "tcp: a firewall drops packets, or the host is down.",
            "tls, apiversions, sasl: the server accepts the connection but hangs.",
        ),
    ),
    ExitCode.TLS: CodePage(
        "The TLS handshake failed: a certificate was rejected, or client and server have no common version or cipher.",
        ("Show the certificate chain of the broker with: kctl probe",),
    ),
    ExitCode.AUTHENTICATION: CodePage(
        "The broker rejected the credentials, or requires credentials. kctl never retries rejected credentials.",
        ("Check user name, password, sasl.mechanism and security.protocol.",),
    ),
    ExitCode.WRONG_PROTOCOL: CodePage(
        "The server on that port is not a Kafka broker, does not use this security protocol, or is too old or too new "
        "for the request.",
        (
            "Identify the server by its first bytes in the message.",
            "kctl probe tries the other protocol once, and reports it.",
        ),
    ),
    ExitCode.REQUEST_TIMEOUT: CodePage(
        "A connected broker did not respond to a request within --request-timeout. kctl closed the connection.",
        ("Check the broker: disk, garbage collection, request queue.",),
    ),
    ExitCode.API_TIMEOUT: CodePage(
        "The call reached --api-timeout without a single cause. The message shows a time breakdown. If one "
        "cause blocked the call, kctl exits with the code of this cause.",
        ("Raise --api-timeout, or find the slow requests with --trace.",),
    ),
    ExitCode.ADVERTISED_ADDRESS: CodePage(
        "A bootstrap server responded, but an address that the brokers advertise is unreachable, or leads to "
        "another broker or cluster. Clients use bootstrap servers only to learn these addresses.",
        (
            "Set advertised.listeners of the broker to an address that clients can reach.",
            "Compare bootstrap and advertised addresses with: kctl probe",
        ),
    ),
    ExitCode.UNAVAILABLE: CodePage(
        "The brokers respond but cannot serve the request now: no leader, no coordinator, or not enough replicas.",
        (
            "Show leaders and replicas with: kctl topics describe",
            ("Retry, if necessary with a longer timeout: the error is often temporary."),
        ),
    ),
    ExitCode.UNDELIVERED: CodePage(
        "Some records were not delivered. The report at the end shows their number and the cause for each partition.",
        ("kctl sent records but received no acknowledgment. The records may have been written.",),
    ),
    ExitCode.CLOSE_TIMEOUT: CodePage(
        "Close did not finish within --close-timeout. The command had processed its data before.",
        ("A broker stopped responding. --close-timeout sets how long close waits for it.",),
    ),
    ExitCode.NOT_AUTHORIZED: CodePage(
        "The broker knows the user but denies the request.",
        ("Create an ACL for this operation and resource with: kctl acls create",),
        "create an ACL for the principal of this connection",
    ),
    ExitCode.UNKNOWN_RESOURCE: CodePage(
        "The topic, partition, or group does not exist, or this principal may not describe it.",
        ("List the topics with: kctl topics list", "List the groups with: kctl groups list"),
    ),
    ExitCode.DATA: CodePage(
        "The data is invalid: a batch is damaged, a record is too large, an offset does not exist or its log was "
        "truncated, or bytes cannot be decoded.",
        ("Find the record by the topic, partition, and offset in the message.",),
    ),
    ExitCode.DISK: CodePage(
        "A file, a directory, or stdout cannot be written, because its disk or a quota is full, or the disk failed.",
        (
            "Free disk space, and run the command again. A pipeline job continues where it stopped.",
            "Show the free space of the directory in the message with: df -h DIRECTORY",
        ),
    ),
    ExitCode.SIGHUP: CodePage(
        "The terminal or SSH session was closed (SIGHUP), and the command closed within --close-timeout.",
        ("Start the command with nohup to keep it running after the terminal closes.",),
    ),
    ExitCode.SIGINT: CodePage("Ctrl-C: the command closed within --close-timeout. A second Ctrl-C exits immediately."),
    ExitCode.SIGTERM: CodePage("SIGTERM: the command closed within --close-timeout."),
}
