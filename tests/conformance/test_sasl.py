"""Our SASL clients against the released Java servers, and Java's SCRAM clients against ours, in memory."""

import subprocess
from base64 import b64decode, b64encode
from collections.abc import Iterator
from pathlib import Path
from random import Random

import pytest

from kctl.client.clock import SystemClock
from kctl.client.security.sasl import SaslMechanism
from kctl.client.security.sasl.oauthbearer import OauthBearerClient, Token, unsecured_token
from kctl.client.security.sasl.plain import PlainClient
from kctl.client.security.sasl.scram import ScramClient
from kctl.sandbox.sasl import ScramCredential, ScramServer
from tools.check_broker_errors import fetch_jars
from tools.kafka_jars import JACKSON, jar

pytestmark = pytest.mark.usefixtures("java_and_maven")

USER = "alice,=x"
"""ASCII: the grammar of Java's SCRAM server takes no other user names."""
PASSWORD = 'sécret",=ß'

PEER = """
import java.io.*;
import java.nio.charset.StandardCharsets;
import java.util.*;
import javax.security.auth.callback.*;
import javax.security.auth.login.AppConfigurationEntry;
import javax.security.sasl.*;
import org.apache.kafka.common.security.oauthbearer.*;
import org.apache.kafka.common.security.oauthbearer.internals.*;
import org.apache.kafka.common.security.oauthbearer.internals.unsecured.*;
import org.apache.kafka.common.security.plain.PlainAuthenticateCallback;
import org.apache.kafka.common.security.plain.internals.PlainSaslServer;
import org.apache.kafka.common.security.scram.*;
import org.apache.kafka.common.security.scram.internals.*;

public class SaslPeer {
    static String user, password;

    static void answer(Callback[] callbacks, String mechanism) {
        for (Callback callback : callbacks) {
            if (callback instanceof PlainAuthenticateCallback plain) {
                plain.authenticated(new String(plain.password()).equals(password));
            } else if (callback instanceof NameCallback name) {
                name.setName(user);
            } else if (callback instanceof PasswordCallback secret) {
                secret.setPassword(password.toCharArray());
            } else if (callback instanceof ScramCredentialCallback scram) {
                try {
                    var formatter = new ScramFormatter(ScramMechanism.forMechanismName(mechanism));
                    scram.scramCredential(formatter.generateCredential(password, 8192));
                } catch (Exception broken) {
                    throw new IllegalStateException(broken);
                }
            }
        }
    }

    static SaslServer server(String mechanism) throws Exception {
        if (mechanism.equals("PLAIN")) return new PlainSaslServer(wanted -> answer(wanted, mechanism));
        if (mechanism.equals("OAUTHBEARER")) {
            var validator = new OAuthBearerUnsecuredValidatorCallbackHandler();
            var required = AppConfigurationEntry.LoginModuleControlFlag.REQUIRED;
            var entry = new AppConfigurationEntry(OAuthBearerLoginModule.class.getName(), required, Map.of());
            validator.configure(Map.of(), mechanism, List.of(entry));
            return new OAuthBearerSaslServer(validator);
        }
        var hashed = ScramMechanism.forMechanismName(mechanism);
        return new ScramSaslServer(hashed, Map.of(), wanted -> answer(wanted, mechanism));
    }

    static byte[] decoded(String line) {
        return Base64.getDecoder().decode(line);
    }

    public static void main(String[] arguments) throws Exception {
        var in = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
        SaslServer server = null;
        SaslClient client = null;
        for (String line = in.readLine(); line != null; line = in.readLine()) {
            String[] words = line.split(" ", -1);
            try {
                byte[] said;
                boolean done;
                if (words.length == 4) {
                    user = new String(decoded(words[2]), StandardCharsets.UTF_8);
                    password = new String(decoded(words[3]), StandardCharsets.UTF_8);
                    server = words[0].equals("server") ? server(words[1]) : null;
                    String mechanism = words[1];
                    client = server != null ? null : new ScramSaslClient(
                        ScramMechanism.forMechanismName(mechanism), wanted -> answer(wanted, mechanism));
                    continue;
                } else if (server != null) {
                    said = server.evaluateResponse(decoded(words[0]));
                    done = server.isComplete();
                } else {
                    said = client.evaluateChallenge(decoded(words[0]));
                    done = client.isComplete();
                }
                String text = said == null ? "" : Base64.getEncoder().encodeToString(said);
                System.out.println(text + " " + done);
            } catch (Exception refused) {
                System.out.println("refused " + refused.getMessage());
            }
            System.out.flush();
        }
    }
}
"""


class Entropy:
    def __init__(self) -> None:
        self._rng = Random(5)

    def token_bytes(self, count: int) -> bytes:
        return self._rng.randbytes(count)


class JavaPeer:
    """A Java process that plays one side after the other."""

    def __init__(self, folder: Path) -> None:
        source = folder / "SaslPeer.java"
        source.write_text(PEER, encoding="utf-8")
        classpath = ":".join(map(str, [*fetch_jars(), *map(jar, JACKSON)]))
        self._process = subprocess.Popen(
            ["java", "-cp", classpath, str(source)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )

    def start(self, role: str, mechanism: str, user: str = USER, password: str = PASSWORD) -> None:
        encoded = [b64encode(text.encode()).decode() for text in (user, password)]
        self._write(f"{role} {mechanism} {encoded[0]} {encoded[1]}")

    def step(self, message: bytes) -> tuple[bytes, bool]:
        """Return what Java says to `message`, and whether it is done; PermissionError with its words if it refuses."""
        self._write(b64encode(message).decode())
        assert self._process.stdout is not None
        said, _, done = self._process.stdout.readline().rstrip("\n").partition(" ")
        if said == "refused":
            raise PermissionError(done)
        return b64decode(said), done == "true"

    def close(self) -> None:
        with self._process:
            self._process.kill()

    def _write(self, line: str) -> None:
        assert self._process.stdin is not None
        self._process.stdin.write(line + "\n")
        self._process.stdin.flush()


@pytest.fixture(scope="module")
def java(tmp_path_factory: pytest.TempPathFactory) -> Iterator[JavaPeer]:
    peer = JavaPeer(tmp_path_factory.mktemp("sasl"))
    yield peer
    peer.close()


def our_client(mechanism: str, password: str = PASSWORD) -> SaslMechanism:
    if mechanism == "PLAIN":
        return PlainClient(USER, password)
    if mechanism == "OAUTHBEARER":
        options = {"unsecuredLoginStringClaim_sub": USER, "unsecuredLoginListClaim_scope": "|a|b"}
        return OauthBearerClient(lambda: Token(unsecured_token(options, SystemClock().wall_ms()), {"traceId": "7"}))
    return ScramClient(mechanism, USER, password, Entropy())


@pytest.mark.parametrize("mechanism", ["PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512", "OAUTHBEARER"])
def test_java_servers_take_our_clients(java: JavaPeer, mechanism: str) -> None:
    java.start("server", mechanism)
    ours = our_client(mechanism)
    message: bytes | None = ours.first()
    done = False
    while message is not None:
        answer, done = java.step(message)
        message = ours.step(answer)
    assert done
    assert ours.complete


@pytest.mark.parametrize("mechanism", ["PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512"])
def test_java_servers_refuse_a_wrong_password(java: JavaPeer, mechanism: str) -> None:
    java.start("server", mechanism)
    ours = our_client(mechanism, "wrong")
    message = ours.first()
    if mechanism != "PLAIN":
        answer, _ = java.step(message)
        message = ours.step(answer) or b""
    with pytest.raises(PermissionError):
        java.step(message)


def our_server(mechanism: str) -> ScramServer:
    credential = ScramCredential.from_password(mechanism, PASSWORD, b"salt", 8192)
    return ScramServer(mechanism, {USER: credential}.get, Entropy())


@pytest.mark.parametrize("mechanism", ["SCRAM-SHA-256", "SCRAM-SHA-512"])
def test_our_servers_take_java_clients(java: JavaPeer, mechanism: str) -> None:
    java.start("client", mechanism)
    theirs = our_server(mechanism)
    message, done = java.step(b"")
    while not done:
        message, done = java.step(theirs.step(message))
    assert theirs.done
    assert theirs.user == USER


def test_a_java_client_notices_a_server_that_does_not_know_the_password(java: JavaPeer) -> None:
    java.start("client", "SCRAM-SHA-256")
    theirs = our_server("SCRAM-SHA-256")
    first, _ = java.step(b"")
    java.step(theirs.step(first))
    with pytest.raises(PermissionError, match="Invalid server signature"):
        java.step(b"v=" + b64encode(bytes(32)))
