import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.net.InetAddress;
import java.nio.charset.StandardCharsets;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import org.apache.kafka.common.Uuid;
import org.apache.kafka.common.acl.AclOperation;
import org.apache.kafka.common.acl.AclPermissionType;
import org.apache.kafka.common.metrics.Metrics;
import org.apache.kafka.common.metrics.internals.PluginMetricsImpl;
import org.apache.kafka.common.resource.PatternType;
import org.apache.kafka.common.resource.ResourcePattern;
import org.apache.kafka.common.resource.ResourceType;
import org.apache.kafka.common.security.auth.KafkaPrincipal;
import org.apache.kafka.common.security.auth.SecurityProtocol;
import org.apache.kafka.metadata.authorizer.StandardAcl;
import org.apache.kafka.metadata.authorizer.StandardAuthorizer;
import org.apache.kafka.server.authorizer.Action;
import org.apache.kafka.server.authorizer.AuthorizableRequestContext;
import org.apache.kafka.server.authorizer.AuthorizationResult;

/** Drives StandardAuthorizer: a line of JSON with entries and questions, answered by 1 or 0 for each question. */
public final class AuthorizerOracle {
    private static final ObjectMapper JSON = new ObjectMapper();

    public static void main(String[] arguments) throws Exception {
        BufferedReader in = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
        for (String line = in.readLine(); line != null; line = in.readLine()) {
            System.out.println(answers(JSON.readTree(line)));
            System.out.flush();
        }
    }

    private static String answers(JsonNode given) throws Exception {
        try (StandardAuthorizer authorizer = new StandardAuthorizer()) {
            authorizer.configure(Map.of(
                "node.id", "1",
                StandardAuthorizer.SUPER_USERS_CONFIG, given.get("super_users").asText(),
                StandardAuthorizer.ALLOW_EVERYONE_IF_NO_ACL_IS_FOUND_CONFIG, given.get("everyone").asText()));
            authorizer.withPluginMetrics(new PluginMetricsImpl(new Metrics(), Map.of()));
            authorizer.loadSnapshot(entries(given.get("entries")));
            authorizer.completeInitialLoad();
            StringBuilder told = new StringBuilder();
            for (JsonNode asked : given.get("asked")) told.append(isAllowed(authorizer, asked) ? '1' : '0');
            return told.toString();
        }
    }

    /** Each is type, name, pattern, principal, host, operation and permission, by the numbers that records have. */
    private static Map<Uuid, StandardAcl> entries(JsonNode given) {
        Map<Uuid, StandardAcl> entries = new LinkedHashMap<>();
        for (JsonNode each : given) {
            entries.put(new Uuid(1, entries.size()), new StandardAcl(
                ResourceType.fromCode((byte) each.get(0).asInt()), each.get(1).asText(),
                PatternType.fromCode((byte) each.get(2).asInt()), each.get(3).asText(), each.get(4).asText(),
                AclOperation.fromCode((byte) each.get(5).asInt()),
                AclPermissionType.fromCode((byte) each.get(6).asInt())));
        }
        return entries;
    }

    /** A question is principal, address, operation, type and name; without a name it is about any of the type. */
    private static boolean isAllowed(StandardAuthorizer authorizer, JsonNode asked) throws Exception {
        String[] principal = asked.get(0).asText().split(":", 2);
        Caller caller = new Caller(
            new KafkaPrincipal(principal[0], principal[1]), InetAddress.getByName(asked.get(1).asText()));
        AclOperation operation = AclOperation.fromCode((byte) asked.get(2).asInt());
        ResourceType type = ResourceType.fromCode((byte) asked.get(3).asInt());
        if (asked.get(4).isNull())
            return authorizer.authorizeByResourceType(caller, operation, type) == AuthorizationResult.ALLOWED;
        ResourcePattern resource = new ResourcePattern(type, asked.get(4).asText(), PatternType.LITERAL);
        Action action = new Action(operation, resource, 1, false, false);
        return authorizer.authorize(caller, List.of(action)).get(0) == AuthorizationResult.ALLOWED;
    }

    private record Caller(KafkaPrincipal principal, InetAddress clientAddress) implements AuthorizableRequestContext {
        public String listenerName() { return "PLAINTEXT"; }
        public SecurityProtocol securityProtocol() { return SecurityProtocol.PLAINTEXT; }
        public int requestType() { return 0; }
        public int requestVersion() { return 0; }
        public String clientId() { return "oracle"; }
        public int correlationId() { return 0; }
    }
}
