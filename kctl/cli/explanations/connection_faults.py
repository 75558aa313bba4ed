"""Faults of connection attempts: names, TCP, wrong servers, TLS, SASL and advertised addresses."""

from kctl.cli.exit_codes import ExitCode
from kctl.cli.explanations.fault import Fault

_PEERS = "tests/faultlab/test_peers.py"
_NAMES = "tests/faultlab/test_names.py"
_SPACES = "tests/faultlab/test_namespaces.py"
_TLS = "tests/faultlab/test_tls.py"
_SASL = "tests/faultlab/test_sasl.py"
_ADVERTISED = "tests/faultlab/test_advertised.py"
_KAFKA = "tests/faultlab/test_kafka.py"

CONNECTION_FAULTS = (
    Fault(
        1,
        "The name does not resolve",
        ExitCode.DNS,
        "NXDOMAIN (the name does not exist) [phase dns]",
        "check the name",
        "The name is misspelled, exists only in another network, or needs a search domain.",
        _NAMES,
    ),
    Fault(
        2,
        "The resolver does not respond",
        ExitCode.CONNECT_TIMEOUT,
        "no DNS response within ... (--connect-timeout) [phase dns]",
        "check the DNS resolver of this machine",
        "The name servers in /etc/resolv.conf are unreachable, or do not respond to the query. If the resolver fails "
        "before the timeout, the exit code is 10.",
        _SPACES,
    ),
    Fault(
        3,
        "One of several addresses of a host does not work",
        ExitCode.OK,
        "no SYN-ACK within ... (--connect-timeout) [phase tcp]",
        "",
        "A DNS record is stale, or one of several load balancers is down. The client tries the next "
        "address after a short time. kctl probe shows all addresses.",
        _SPACES,
    ),
    Fault(
        4,
        "Only one of IPv4 and IPv6 works",
        ExitCode.OK,
        "connection refused (RST after # ms) [phase tcp]",
        "",
        "The name has IPv4 and IPv6 addresses, but the broker listens on only one of them. The client tries both. "
        "kctl probe shows each address.",
        _SPACES,
    ),
    Fault(
        5,
        "The port is closed",
        ExitCode.REFUSED,
        "connection refused (RST after # ms) [phase tcp]",
        "check the port and that the server runs",
        "The broker is not running, listens on another port or interface, or a firewall rejects the connection.",
        _PEERS,
    ),
    Fault(
        6,
        "No route to the host",
        ExitCode.REFUSED,
        "host unreachable [phase tcp]",
        "check the routing, VPN, and firewall",
        "A router reported that it has no route: a VPN is down, a route is missing, or the subnet is wrong.",
        _SPACES,
    ),
    Fault(
        7,
        "Packets are dropped silently",
        ExitCode.CONNECT_TIMEOUT,
        "no SYN-ACK within ... (--connect-timeout) [phase tcp]",
        "check that the host is up and that no firewall drops packets",
        "A firewall or security group drops packets, or the host is down. Find the last reachable hop with: "
        "tcptraceroute HOST PORT",
        _PEERS,
    ),
    Fault(
        8,
        "Some bootstrap servers do not work",
        ExitCode.OK,
        "connection refused (RST after # ms) [phase tcp]",
        "",
        "The list has outdated entries, or brokers are down. One working server is enough, but kctl probe "
        "--strict exits with 3.",
        _PEERS,
    ),
    Fault(
        9,
        "All bootstrap servers fail, with different errors",
        ExitCode.WRONG_PROTOCOL,
        "the server is an HTTP server",
        "check the port",
        "kctl lists the error of each server, and exits with the code of the connection that got furthest.",
        _PEERS,
    ),
    Fault(
        10,
        "The server accepts the connection but does not respond",
        ExitCode.CONNECT_TIMEOUT,
        "connected, but no ApiVersions response within ... (--connect-timeout) [phase apiversions]",
        "check that the port is a Kafka port and that the broker responds",
        "The broker hangs, for example because of a full disk or long garbage collection, but its operating system "
        "accepts connections. Another cause is a server that is not a Kafka broker and waits for data.",
        _PEERS,
    ),
    Fault(
        11,
        "The server closes immediately",
        ExitCode.REFUSED,
        "the server ... the connection after # ms [phase apiversions]",
        "check for a proxy without a backend, a connection quota, or a TLS port",
        "A load balancer has no healthy backend, the broker reached max.connections, or an IP filter rejects the "
        "client.",
        _PEERS,
    ),
    Fault(
        12,
        "The connection is reset",
        ExitCode.REFUSED,
        "the server reset the connection after # ms [phase ...]",
        "check for a proxy without a backend, a connection quota, or a ...",
        "A load balancer or firewall cut the connection, the broker was killed, or a connection quota was reached.",
        _PEERS,
    ),
    Fault(
        13,
        "A plaintext client on a TLS port",
        ExitCode.WRONG_PROTOCOL,
        "the server is a TLS listener (TLS record 15 03 ...) [phase apiversions]",
        "use --security-protocol SSL (or SASL_SSL)",
        "security.protocol is PLAINTEXT or SASL_PLAINTEXT, but the listener uses TLS.",
        _PEERS,
    ),
    Fault(
        14,
        "A TLS client on a plaintext port",
        ExitCode.WRONG_PROTOCOL,
        "the server ... the connection after # ms during the TLS handshake: probably a plaintext listener [phase tls]",
        "...--security-protocol PLAINTEXT...",
        "A plaintext broker reads the first bytes of TLS as an invalid request and closes the connection. A proxy "
        "without a backend also closes the connection, so kctl tries each server twice. kctl probe also tries the "
        "other protocol.",
        _PEERS,
    ),
    Fault(
        15,
        "An HTTP server",
        ExitCode.WRONG_PROTOCOL,
        'the server is an HTTP server ("HTTP/1.1 400 Bad Request") [phase apiversions]',
        "check the port",
        "The port belongs to a REST proxy, a schema registry, a metrics exporter, or a web server.",
        _PEERS,
    ),
    Fault(
        16,
        "An SSH, AMQP, Redis or SMTP server",
        ExitCode.WRONG_PROTOCOL,
        "the server is a... (...) [phase apiversions]",
        "check the port",
        "Another service listens on this port. The message shows its first bytes.",
        _PEERS,
    ),
    Fault(
        17,
        "Bytes that are not a Kafka frame",
        ExitCode.WRONG_PROTOCOL,
        "the server is not a Kafka broker (frame size ... bytes, first bytes ...) [phase apiversions]",
        "check the port",
        "The server uses an unknown protocol. Kafka responses start with their size in four bytes, but this size is "
        "invalid, so kctl closes the connection.",
        _PEERS,
    ),
    Fault(
        18,
        "The TLS handshake hangs",
        ExitCode.CONNECT_TIMEOUT,
        "connected, but the TLS handshake did not finish within ... (--connect-timeout) [phase tls]",
        "check that the port uses TLS and that the server is not overloaded",
        "A firewall inspects TLS, the broker is overloaded, or the server does not use TLS and waits for data.",
        _PEERS,
    ),
    Fault(
        19,
        "The broker's certificate has expired",
        ExitCode.TLS,
        "certificate expired ... [phase tls]",
        "renew the certificate of the broker",
        "The certificate, or a certificate that signed it, has expired. kctl probe shows the chain.",
        _TLS,
    ),
    Fault(
        20,
        "The broker's certificate is not valid yet",
        ExitCode.TLS,
        "certificate is valid only from ... [phase tls]",
        "check the clock of this machine",
        "The clock of this machine is behind, or the certificate was issued for a later date.",
        _TLS,
    ),
    Fault(
        21,
        "The certificate is for another host",
        ExitCode.TLS,
        "certificate is for ..., not for ... [phase tls]",
        "connect with a name in the certificate, or issue a certificate for this name",
        "The host name is not in the subject alternative names of the certificate. Connect with one of these names, "
        "or issue a certificate for the host name.",
        _TLS,
    ),
    Fault(
        22,
        "The certificate's issuer is not trusted",
        ExitCode.TLS,
        "certificate of ... is not trusted: issuer ... is unknown here [phase tls]",
        "add the certificate of the issuer to ssl.truststore.location",
        "ssl.truststore.location does not contain the certificate authority of the broker, or the broker does not "
        "send an intermediate certificate.",
        _TLS,
    ),
    Fault(
        23,
        "The broker requires a client certificate",
        ExitCode.TLS,
        "the ... certificate...",
        "...ssl.keystore.location...",
        "The listener has ssl.client.auth=required. With TLS 1.3, the broker reports a missing certificate only "
        "after the handshake.",
        _KAFKA,
    ),
    Fault(
        24,
        "No TLS version or cipher in common",
        ExitCode.TLS,
        "no TLS version in common...",
        "compare ssl.enabled.protocols on both sides",
        "The client or the broker is too old, or its settings are too strict. Compare ssl.enabled.protocols and "
        "ssl.cipher.suites of both.",
        _KAFKA,
    ),
    Fault(
        25,
        "The listener requires SASL and the client uses none",
        ExitCode.AUTHENTICATION,
        "the server responded to ApiVersions, but closed the connection on the first request (...) [phase ready]",
        "use SASL, which the listener probably requires",
        "security.protocol is PLAINTEXT or SSL, but the listener is SASL_PLAINTEXT or SASL_SSL. Without "
        "authentication, brokers respond to ApiVersions and close the connection on other requests.",
        _SASL,
    ),
    Fault(
        26,
        "The SASL mechanism is not offered",
        ExitCode.AUTHENTICATION,
        "the broker does not support ... (supported: ...) [phase sasl]",
        "set sasl.mechanism to ...",
        "sasl.enabled.mechanisms of the broker does not include the configured sasl.mechanism.",
        _SASL,
    ),
    Fault(
        27,
        "Wrong user or password",
        ExitCode.AUTHENTICATION,
        "PLAIN: Authentication failed: Invalid username or password [phase sasl]",
        "check user name, password, and mechanism",
        "The message comes from the broker. kctl does not retry the login, because repeated failures may lock the "
        "account.",
        _SASL,
    ),
    Fault(
        28,
        "The SASL exchange hangs",
        ExitCode.CONNECT_TIMEOUT,
        "SASL authentication did not finish within ... (--connect-timeout) [phase sasl]",
        "check the authentication backend of the broker",
        "The broker waits for its authentication backend, such as an LDAP server, a token endpoint, or a callback "
        "handler.",
        _SASL,
    ),
    Fault(
        29,
        "An advertised name does not resolve",
        ExitCode.ADVERTISED_ADDRESS,
        "bootstrap ok, but broker # advertises ...: NXDOMAIN (the name does not exist) [phase dns]",
        "fix advertised.listeners of the broker, or make its host name resolve",
        "Clients query a bootstrap server once, and then connect to the addresses that brokers advertise. An "
        "advertised name, such as a container name, may resolve only on other machines.",
        _ADVERTISED,
    ),
    Fault(
        30,
        "An advertised address is unreachable, or is this machine itself",
        ExitCode.ADVERTISED_ADDRESS,
        "bootstrap ok, but broker # advertises ...: ... [phase tcp]",
        "start the broker if it is down. Otherwise, fix advertised.listeners or make the address reachable",
        "advertised.listeners contains localhost or an internal address that only other machines can reach.",
        _ADVERTISED,
    ),
    Fault(
        31,
        "A KRaft controller instead of a broker",
        ExitCode.WRONG_PROTOCOL,
        "the server is a KRaft controller, which does not support Metadata requests [phase metadata]",
        "connect to a broker listener",
        "The port belongs to a listener in controller.listener.names. Controllers do not serve topics.",
        _KAFKA,
    ),
    Fault(
        32,
        "Another broker or cluster responds",
        ExitCode.ADVERTISED_ADDRESS,
        "advertised as broker #, but broker # responds there",
        "check the load balancer or port forward of this address",
        "A load balancer distributes connections to several brokers, port forwards are mixed up, or the bootstrap "
        "servers belong to different clusters. kctl probe checks the ID of each broker.",
        _ADVERTISED,
    ),
    Fault(
        33,
        "The broker responds to ApiVersions only",
        ExitCode.REQUEST_TIMEOUT,
        "timed out after ... while waiting for the Metadata response from ...",
        "",
        "The request handlers of the broker hang or are overloaded. Check the request queue, the disk, and the "
        "garbage collection of the broker. kctl closes the connection after the timeout.",
        _PEERS,
    ),
)
