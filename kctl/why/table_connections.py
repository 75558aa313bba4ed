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
        "A broker advertises an address that does not work from this machine",
        "Clients connect to a bootstrap server, and then wait for this broker until they time out.",
    ),
    _row(
        "advertised-loopback",
        Severity.ERROR,
        "A broker advertises a loopback address to remote clients",
        "Clients connect to their own machine instead of the broker.",
    ),
    _row(
        "misrouted",
        Severity.ERROR,
        "The wrong broker responds at an address",
        "Requests reach the wrong broker and fail with NOT_LEADER_OR_FOLLOWER.",
    ),
    _row(
        "two-clusters",
        Severity.ERROR,
        "The bootstrap servers belong to different clusters",
        "Clients read from and write to one of the clusters at random.",
    ),
    _row(
        "certificate-expired",
        Severity.ERROR,
        "A certificate has expired",
        "Clients that check certificates cannot connect.",
    ),
    _row(
        "certificate-expiring",
        Severity.WARNING,
        "A certificate expires soon",
        "After the certificate expires, clients that check certificates cannot connect.",
    ),
    _row(
        "certificate-name",
        Severity.WARNING,
        "A certificate does not match the host name",
        "Clients that check host names cannot connect.",
    ),
    _row(
        "certificate-untrusted",
        Severity.ERROR,
        "A certificate was issued by an unknown authority",
        "Clients that use this truststore cannot connect.",
    ),
    _row(
        "tls-failed",
        Severity.ERROR,
        "The TLS handshake with a broker fails",
        "Clients with these TLS properties cannot connect to this address.",
    ),
    _row(
        "authentication-failed",
        Severity.ERROR,
        "Authentication with a broker fails",
        "Clients with these credentials cannot connect to this address. Clients that try this address first cannot "
        "start.",
    ),
    _row(
        "other-protocol",
        Severity.ERROR,
        "A server does not use the configured security protocol",
        "Clients with this security protocol cannot connect to this address. Clients that try this address first "
        "cannot start.",
    ),
    _row(
        "broker-unusable",
        Severity.ERROR,
        "A broker does not accept new connections",
        "Clients that reconnect to this broker wait until they time out.",
    ),
    _row(
        "no-controller",
        Severity.WARNING,
        "No broker reports an active controller",
        "Topics and configs cannot be changed, and no leaders are elected.",
    ),
    _row(
        "bootstrap-unreachable",
        Severity.NOTE,
        "A bootstrap server cannot be used",
        "Clients that try this server first take longer to start. If all bootstrap servers fail, clients cannot start.",
        "correct or remove the address in bootstrap.servers",
    ),
    _row(
        "dead-address",
        Severity.NOTE,
        "One of the IP addresses of a host does not work",
        "Clients that try this address first connect more slowly.",
    ),
    _row(
        "version-skew",
        Severity.NOTE,
        "Brokers support different API versions",
        "Clients use the versions that each broker supports. Some new features need an upgrade of all brokers.",
    ),
)
