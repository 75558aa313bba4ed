import java.net.URI;
import java.net.URLDecoder;
import java.nio.charset.StandardCharsets;
import java.security.MessageDigest;
import java.time.Instant;
import java.time.ZoneOffset;
import java.time.format.DateTimeFormatter;
import java.util.Base64;
import java.util.HexFormat;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import javax.crypto.Mac;
import javax.crypto.spec.SecretKeySpec;
import javax.security.auth.callback.Callback;
import javax.security.auth.login.AppConfigurationEntry;
import org.apache.kafka.common.security.auth.AuthenticateCallbackHandler;
import org.apache.kafka.common.security.oauthbearer.OAuthBearerToken;
import org.apache.kafka.common.security.oauthbearer.OAuthBearerValidatorCallback;

/** The broker's side of Amazon MSK's IAM login: a token is a presigned URL, whose signature is computed again here. */
public class AwsTokenCheck implements AuthenticateCallbackHandler {
    private static final DateTimeFormatter STAMP = DateTimeFormatter.ofPattern("yyyyMMdd'T'HHmmss'Z'").withZone(ZoneOffset.UTC);
    private String secret;

    @Override
    public void configure(Map<String, ?> configs, String mechanism, List<AppConfigurationEntry> entries) {
        secret = (String) entries.get(0).getOptions().get("secret");
    }

    @Override
    public void handle(Callback[] callbacks) {
        for (Callback callback : callbacks) {
            if (callback instanceof OAuthBearerValidatorCallback wanted) {
                try {
                    wanted.token(check(wanted.tokenValue()));
                } catch (Exception e) {
                    wanted.error("invalid_token", null, null);
                }
            }
        }
    }

    private OAuthBearerToken check(String value) throws Exception {
        URI url = new URI(new String(Base64.getUrlDecoder().decode(value), StandardCharsets.UTF_8));
        TreeMap<String, String> query = new TreeMap<>();
        for (String pair : url.getRawQuery().split("&")) {
            int at = pair.indexOf('=');
            query.put(pair.substring(0, at), pair.substring(at + 1));
        }
        String signature = query.remove("X-Amz-Signature");
        query.remove("User-Agent");
        String[] scope = URLDecoder.decode(query.get("X-Amz-Credential"), StandardCharsets.UTF_8).split("/");
        String stamp = query.get("X-Amz-Date");
        StringBuilder canonical = new StringBuilder();
        query.forEach((name, each) -> canonical.append(canonical.isEmpty() ? "" : "&").append(name).append('=').append(each));
        String request = "GET\n/\n" + canonical + "\nhost:" + url.getHost() + "\n\nhost\n" + hash("");
        String credential = String.join("/", scope[1], scope[2], scope[3], scope[4]);
        byte[] key = ("AWS4" + secret).getBytes(StandardCharsets.UTF_8);
        for (String part : List.of(scope[1], scope[2], scope[3], scope[4])) {
            key = mac(key, part);
        }
        String expected = HexFormat.of().formatHex(
                mac(key, String.join("\n", "AWS4-HMAC-SHA256", stamp, credential, hash(request))));
        Instant signed = Instant.from(STAMP.parse(stamp));
        Instant expires = signed.plusSeconds(Long.parseLong(query.get("X-Amz-Expires")));
        if (!expected.equals(signature) || !"kafka-cluster".equals(scope[3]) || expires.isBefore(Instant.now())
                || !"kafka-cluster%3AConnect".equals(query.get("Action"))) {
            throw new SecurityException("not signed by the secret of the cluster");
        }
        return new Signed(value, scope[0], signed.toEpochMilli(), expires.toEpochMilli());
    }

    private static String hash(String text) throws Exception {
        byte[] digest = MessageDigest.getInstance("SHA-256").digest(text.getBytes(StandardCharsets.UTF_8));
        return HexFormat.of().formatHex(digest);
    }

    private static byte[] mac(byte[] key, String text) throws Exception {
        Mac mac = Mac.getInstance("HmacSHA256");
        mac.init(new SecretKeySpec(key, "HmacSHA256"));
        return mac.doFinal(text.getBytes(StandardCharsets.UTF_8));
    }

    @Override
    public void close() {
    }

    /** What is in a token. */
    private record Signed(String value, String principalName, Long startTimeMs, long lifetimeMs) implements OAuthBearerToken {
        @Override
        public Set<String> scope() {
            return Set.of();
        }
    }
}
