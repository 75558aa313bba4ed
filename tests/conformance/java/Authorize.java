import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.io.PrintStream;
import java.net.InetAddress;
import java.nio.charset.StandardCharsets;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import org.apache.kafka.common.Uuid;
import org.apache.kafka.common.acl.AccessControlEntry;
import org.apache.kafka.common.acl.AclBinding;
import org.apache.kafka.common.acl.AclOperation;
import org.apache.kafka.common.acl.AclPermissionType;
import org.apache.kafka.common.metrics.Metrics;
import org.apache.kafka.common.metrics.internals.PluginMetricsImpl;
import org.apache.kafka.common.resource.PatternType;
import org.apache.kafka.common.resource.ResourcePattern;
import org.apache.kafka.common.resource.ResourceType;
import org.apache.kafka.common.security.auth.KafkaPrincipal;
import org.apache.kafka.common.security.auth.SecurityProtocol;
import org.apache.kafka.common.utils.SecurityUtils;
import org.apache.kafka.metadata.authorizer.StandardAcl;
import org.apache.kafka.metadata.authorizer.StandardAuthorizer;
import org.apache.kafka.server.authorizer.Action;
import org.apache.kafka.server.authorizer.AuthorizableRequestContext;
import org.apache.kafka.server.authorizer.AuthorizationResult;

/**
 * Asks StandardAuthorizer. A line `set everyone superUsers` begins a set of rules, each of which is a line `rule
 * resourceType name patternType principal host operation permission`; a line `ask principal host operation resourceType
 * name` is answered by a line `1` or `0`. Numbers are Kafka's codes.
 */
public final class Authorize {
    private Authorize() {}

    /** Who asks, from where. */
    private record Context(KafkaPrincipal principal, InetAddress clientAddress) implements AuthorizableRequestContext {
        @Override
        public String listenerName() {
            return "PLAINTEXT";
        }

        @Override
        public SecurityProtocol securityProtocol() {
            return SecurityProtocol.PLAINTEXT;
        }

        @Override
        public int requestType() {
            return 3;
        }

        @Override
        public int requestVersion() {
            return 0;
        }

        @Override
        public String clientId() {
            return "";
        }

        @Override
        public int correlationId() {
            return 0;
        }
    }

    public static void main(String[] arguments) throws Exception {
        PrintStream out = new PrintStream(System.out, false, StandardCharsets.UTF_8);
        BufferedReader in = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
        StandardAuthorizer authorizer = null;
        Map<Uuid, StandardAcl> rules = new LinkedHashMap<>();
        Map<String, String> settings = Map.of();
        for (String line = in.readLine(); line != null; line = in.readLine()) {
            String[] words = line.split(" ", -1);
            if (words[0].equals("set")) {
                settings = Map.of("allow.everyone.if.no.acl.found", words[1], "super.users", words[2]);
                rules = new LinkedHashMap<>();
                authorizer = null;
            } else if (words[0].equals("rule")) {
                rules.put(new Uuid(1, rules.size() + 1), StandardAcl.fromAclBinding(binding(words)));
            } else {
                if (authorizer == null) {
                    authorizer = new StandardAuthorizer();
                    authorizer.withPluginMetrics(new PluginMetricsImpl(new Metrics(), Map.of()));
                    authorizer.configure(settings);
                    authorizer.loadSnapshot(rules);
                    authorizer.completeInitialLoad();
                }
                out.println(isAllowed(authorizer, words) ? "1" : "0");
            }
        }
        out.flush();
    }

    private static AclBinding binding(String[] words) {
        return new AclBinding(
                new ResourcePattern(
                        ResourceType.fromCode(Byte.parseByte(words[1])),
                        words[2],
                        PatternType.fromCode(Byte.parseByte(words[3]))),
                new AccessControlEntry(
                        words[4],
                        words[5],
                        AclOperation.fromCode(Byte.parseByte(words[6])),
                        AclPermissionType.fromCode(Byte.parseByte(words[7]))));
    }

    private static boolean isAllowed(StandardAuthorizer authorizer, String[] words) throws Exception {
        ResourcePattern resource =
                new ResourcePattern(ResourceType.fromCode(Byte.parseByte(words[4])), words[5], PatternType.LITERAL);
        AclOperation operation = AclOperation.fromCode(Byte.parseByte(words[3]));
        Context context =
                new Context(SecurityUtils.parseKafkaPrincipal(words[1]), InetAddress.getByName(words[2]));
        Action action = new Action(operation, resource, 1, false, false);
        return authorizer.authorize(context, List.of(action)).get(0) == AuthorizationResult.ALLOWED;
    }
}
