"""Rows of probe findings about addresses and certificates."""

from kctl.why.finding import PROBE, FindingKind, Scope, Severity


def _row(name: str, severity: Severity, title: str, leads_to: str, cure: str = "{hint}") -> FindingKind:
    return FindingKind(
        id=name,
        severity=severity,
        title=title,
        scopes=(Scope.CLUSTER,),
        looks=1,
        requests=(PROBE,),
        subject="{where}",
        sentence="{where}: {text}",
        leads_to=leads_to,
        show="kctl probe",
        cure=cure,
    )


CONNECTION_FINDINGS: tuple[FindingKind, ...] = (
    _row(
        "advertised-unusable",
        Severity.ERROR,
        "A broker advertises an address that does not work from here",
        "Clients reach the bootstrap server and wait for this broker until their timeouts.",
    ),
    _row(
        "advertised-loopback",
        Severity.ERROR,
        "A broker advertises a loopback address to clients from outside",
        "Every client connects to itself.",
    ),
    _row(
        "misrouted",
        Severity.ERROR,
        "Another broker responds at a broker's address",
        "Requests for partitions of one broker reach another and fail with NOT_LEADER_OR_FOLLOWER.",
    ),
    _row(
        "two-clusters",
        Severity.ERROR,
        "The bootstrap servers belong to different clusters",
        "Clients read from and write to one or the other at random.",
    ),
    _row(
        "certificate-expired",
        Severity.ERROR,
        "A certificate has expired",
        "Clients that check certificates refuse the connection.",
    ),
    _row(
        "certificate-expiring",
        Severity.WARNING,
        "A certificate expires soon",
        "From then on clients that check certificates refuse the connection.",
    ),
    _row(
        "certificate-name",
        Severity.WARNING,
        "A certificate does not match the host name",
        "Clients that check names refuse the connection.",
    ),
    _row(
        "certificate-untrusted",
        Severity.ERROR,
        "A certificate was issued by an unknown authority",
        "Clients with this truststore refuse the connection.",
    ),
    _row(
        "tls-failed",
        Severity.ERROR,
        "The TLS handshake fails at an address",
        "Clients with these TLS properties cannot connect there.",
    ),
    _row(
        "authentication-failed",
        Severity.ERROR,
        "The login fails at an address",
        "Clients with these credentials cannot connect there, and stop if they start with this address.",
    ),
    _row(
        "other-protocol",
        Severity.ERROR,
        "A server uses another protocol",
        "Clients with this security protocol cannot connect there, and stop if they start with this address.",
    ),
    _row(
        "broker-unusable",
        Severity.ERROR,
        "A broker accepts no new connection",
        "Clients that connect again wait for this broker until their timeouts.",
    ),
    _row(
        "no-controller",
        Severity.WARNING,
        "No broker reports an active controller",
        "Topics and configs do not change, and leaders do not move.",
    ),
    _row(
        "bootstrap-unreachable",
        Severity.NOTE,
        "A bootstrap server does not work",
        "Clients that choose this address first start later; if all others fail, clients do not start.",
        "correct or remove the address in bootstrap.servers",
    ),
    _row(
        "dead-address",
        Severity.NOTE,
        "One of several addresses of a name does not work",
        "Clients that choose this address first connect later.",
    ),
    _row(
        "version-skew",
        Severity.NOTE,
        "Brokers have different versions of APIs",
        "Clients use the versions of the broker that they reach; new features wait for the oldest broker.",
    ),
)
