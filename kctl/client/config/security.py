from kctl.client.config.base import BaseConfig
from kctl.client.config.property import (
    Choice,
    Function,
    OptionalText,
    OptionalWhole,
    Property,
    choice,
    flag,
    optional_text,
    secret,
    text,
    words,
)

SASL_MECHANISMS = ("PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512", "OAUTHBEARER", "GSSAPI")
STORE_TYPES = ("JKS", "PKCS12", "PEM")
TLS_VERSIONS = ("TLSv1", "TLSv1.1", "TLSv1.2", "TLSv1.3")


class SaslMechanismKind(Choice):
    """A SASL mechanism; for AWS_MSK_IAM the error shows the equivalent properties."""

    def read(self, raw: object) -> str:
        if isinstance(raw, str) and raw.upper() == "AWS_MSK_IAM":
            raise ValueError("for Amazon MSK with IAM, use OAUTHBEARER with sasl.oauthbearer.method=aws_msk_iam")
        return super().read(raw)


class SecurityConfig(BaseConfig):
    """Properties of TLS and SASL."""

    __slots__ = ()

    # --- TLS ----------------------------------------------------------------------------------------------------------
    ssl_truststore_type = choice(
        "ssl.truststore.type", "JKS", STORE_TYPES, "Format of the truststore: JKS, PKCS12, or PEM."
    )
    ssl_truststore_location = optional_text(
        "ssl.truststore.location", "Path of the truststore file with the trusted certificates.", alias="ssl.ca.location"
    )
    ssl_truststore_password = secret("ssl.truststore.password", "Password of the truststore, for JKS and PKCS12.")
    ssl_truststore_certificates = secret(
        "ssl.truststore.certificates", "Trusted certificates in PEM format, instead of a file."
    )
    ssl_keystore_type = choice("ssl.keystore.type", "JKS", STORE_TYPES, "Format of the keystore: JKS, PKCS12, or PEM.")
    ssl_keystore_location = optional_text(
        "ssl.keystore.location", "Path of the keystore file with the private key and certificate chain of the client."
    )
    ssl_keystore_password = secret("ssl.keystore.password", "Password of the keystore, for JKS and PKCS12.")
    ssl_keystore_key = secret(
        "ssl.keystore.key", "Private key of the client in PEM format (PKCS#8), instead of a file."
    )
    ssl_keystore_certificate_chain = secret(
        "ssl.keystore.certificate.chain", "Certificate chain of the client in PEM format, instead of a file."
    )
    ssl_key_password = secret("ssl.key.password", "Password of the private key of the client.")
    ssl_endpoint_identification_algorithm = text(
        "ssl.endpoint.identification.algorithm",
        "https",
        "Host name check of certificates: https, or empty to accept certificates for any host.",
    )
    ssl_enabled_protocols = words(
        "ssl.enabled.protocols", ("TLSv1.2", "TLSv1.3"), "Allowed TLS versions.", Choice(TLS_VERSIONS)
    )
    ssl_cipher_suites = words(
        "ssl.cipher.suites", (), "Allowed cipher suites. An empty list allows the default suites of OpenSSL."
    )

    # --- SASL ---------------------------------------------------------------------------------------------------------
    sasl_mechanism = Property(
        "sasl.mechanism", SaslMechanismKind(SASL_MECHANISMS), "GSSAPI", "SASL mechanism. GSSAPI is Kerberos."
    )
    sasl_jaas_config = secret("sasl.jaas.config", "JAAS login module and its options, such as user name and password.")
    sasl_kerberos_service_name = optional_text(
        "sasl.kerberos.service.name", "First part of the Kerberos principal of the brokers, required for GSSAPI."
    )
    sasl_kerberos_principal = optional_text(
        "sasl.kerberos.principal", "Kerberos principal [default: the principal of the keytab or the ticket]."
    )
    sasl_kerberos_keytab = optional_text(
        "sasl.kerberos.keytab", "Path of the keytab file [default: the ticket in the credentials cache]."
    )
    sasl_oauthbearer_token = secret("sasl.oauthbearer.token", "OAuth token, instead of a file (kctl's own property).")
    sasl_oauthbearer_token_file = optional_text(
        "sasl.oauthbearer.token.file",
        "Path of a file with the OAuth token. kctl reads the file at each login (kctl's own property).",
    )
    sasl_oauthbearer_token_endpoint_url = optional_text(
        "sasl.oauthbearer.token.endpoint.url",
        "URL of the OAuth token endpoint, or the file: URL of a file with a token.",
    )
    sasl_oauthbearer_token_endpoint_allow_http = flag(
        "sasl.oauthbearer.token.endpoint.allow.http",
        False,
        "Send the client secret over plain HTTP to other machines (kctl's own property).",
    )
    sasl_oauthbearer_client_credentials_client_id = Property(
        "sasl.oauthbearer.client.credentials.client.id",
        OptionalText(),
        None,
        "Client id for the token endpoint.",
        alias="sasl.oauthbearer.client.id",
    )
    sasl_oauthbearer_client_credentials_client_secret = Property(
        "sasl.oauthbearer.client.credentials.client.secret",
        OptionalText(),
        None,
        "Client secret for the token endpoint.",
        secret=True,
        alias="sasl.oauthbearer.client.secret",
    )
    sasl_oauthbearer_scope = optional_text("sasl.oauthbearer.scope", "Scope of the requested token.")
    sasl_oauthbearer_header_urlencode = flag(
        "sasl.oauthbearer.header.urlencode", False, "URL-encode the client id and client secret for the token endpoint."
    )
    sasl_oauthbearer_token_callback = Property(
        "sasl.oauthbearer.token.callback",
        Function(),
        None,
        "Python function that returns a token or (token, expires_at_s) (kctl's own property).",
    )
    sasl_oauthbearer_method = choice(
        "sasl.oauthbearer.method",
        "default",
        ("default", "oidc", "aws_msk_iam"),
        "Source of tokens: default (the other properties), oidc (a token endpoint), or aws_msk_iam (AWS credentials).",
    )
    aws_region = optional_text(
        "aws.region", "AWS region for aws_msk_iam [default: the region in the name of the first server]."
    )
    aws_profile = optional_text("aws.profile", "Profile in the AWS config files for aws_msk_iam. Needs boto3.")
    sasl_login_connect_timeout_ms = Property(
        "sasl.login.connect.timeout.ms",
        OptionalWhole(),
        None,
        "Timeout of connections to the token endpoint [default: the connection timeout].",
    )
    sasl_login_read_timeout_ms = Property(
        "sasl.login.read.timeout.ms",
        OptionalWhole(),
        None,
        "Timeout of responses from the token endpoint [default: the request timeout].",
    )
