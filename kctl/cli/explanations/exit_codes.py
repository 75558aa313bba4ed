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
        "kctl failed because of a bug, or because of a broker error without an exit code.",
        (
            "If the message has a Kafka error code, such as UNKNOWN_SERVER_ERROR, run: kctl explain CODE",
            "Otherwise, add -v, and report the bug with its traceback.",
        ),
    ),
    ExitCode.USAGE: CodePage(
        "The command line, a property, or a properties file is invalid, or a broker rejected a value. Files that "
        "cannot be opened and a closed stdout also lead to this exit code.",
        (
            "Check the option, property, or file in the message.",
            ("Show the options of a command with: kctl COMMAND --help"),
        ),
    ),
    ExitCode.PARTIAL_FAILURE: CodePage(
        "The command failed for some topics, groups, or partitions, or a check found a problem. kctl why and kctl "
        "doctor exit with this code for warnings and errors, and kctl groups lag for a lag above --threshold. kctl "
        "probe exits with this code for unusable brokers, and with --strict for any problem. kctl pipeline verify "
        "exits with this code for differences, and kctl probe report --strict for findings.",
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
            "If the connection was refused, check that the broker is running and that it uses this port.",
            (
                "If the connection was reset or closed, check connection quotas, and any proxy between client and "
                "broker."
            ),
        ),
    ),
    ExitCode.CONNECT_TIMEOUT: CodePage(
        "A connection was not ready within --connect-timeout. The timeout covers DNS, TCP, TLS, ApiVersions, and "
        "SASL, including token requests. The message shows the phase that did not finish.",
        (
            "In the phase dns, check the DNS resolver of this machine.",
            "In the phase tcp, check that the host is up and that no firewall drops packets.",
            "In the phases tls, apiversions, and sasl, check whether the server hangs.",
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
            "Check whether the server uses another security protocol with: kctl probe",
        ),
    ),
    ExitCode.REQUEST_TIMEOUT: CodePage(
        "A connected broker did not respond to a request within --request-timeout. kctl closed the connection.",
        ("Check the disk, the garbage collection, and the request queue of the broker.",),
    ),
    ExitCode.API_TIMEOUT: CodePage(
        "The command did not finish within --api-timeout, and no single error blocked it. The message shows a time "
        "breakdown. If one error blocks the command, kctl exits with the code of that error.",
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
        "The brokers respond, but cannot serve the request now, because a leader, a coordinator, or an in-sync "
        "replica is missing.",
        (
            "Show leaders and replicas with: kctl topics describe",
            ("Retry, if necessary with a longer timeout: the error is often temporary."),
        ),
    ),
    ExitCode.UNDELIVERED: CodePage(
        "Some records were not delivered. The report at the end shows their number and the cause for each partition.",
        ("Check the topic before you send the records again: unacknowledged records may have been written.",),
    ),
    ExitCode.CLOSE_TIMEOUT: CodePage(
        "The command processed its data, but did not close within --close-timeout.",
        ("Check the brokers, or raise --close-timeout: a broker stopped responding.",),
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
        "The data is invalid or missing. Examples are damaged batches, records that are too large, offsets that do "
        "not exist, truncated logs, and bytes that cannot be decoded.",
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
    ExitCode.SIGINT: CodePage(
        "Ctrl-C (SIGINT) interrupted the command, which closed within --close-timeout. A second Ctrl-C exits "
        "immediately."
    ),
    ExitCode.SIGTERM: CodePage("SIGTERM terminated the command, which closed within --close-timeout."),
}
