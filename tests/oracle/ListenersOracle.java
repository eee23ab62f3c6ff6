import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.nio.charset.StandardCharsets;
import java.util.Properties;
import kafka.server.KafkaConfig;
import org.apache.kafka.common.Endpoint;
import scala.collection.Iterator;
import scala.collection.Seq;

/** Reads the properties of a node: a line of JSON by name, answered by its listeners, or by why it refuses them. */
public final class ListenersOracle {
    private static final ObjectMapper JSON = new ObjectMapper();

    public static void main(String[] arguments) throws Exception {
        BufferedReader in = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
        for (String line = in.readLine(); line != null; line = in.readLine()) {
            System.out.println(JSON.writeValueAsString(read(JSON.readTree(line))));
            System.out.flush();
        }
    }

    private static ObjectNode read(JsonNode given) {
        Properties properties = new Properties();
        given.fieldNames().forEachRemaining(name -> properties.setProperty(name, given.get(name).asText()));
        ObjectNode told = JSON.createObjectNode();
        try {
            KafkaConfig config = KafkaConfig.fromProps(properties, false);
            told.set("listeners", endpoints(config.listeners()));
            told.set("advertised", endpoints(config.effectiveAdvertisedBrokerListeners()));
            told.put("inter_broker", config.interBrokerListenerName().value());
        } catch (IllegalArgumentException | org.apache.kafka.common.KafkaException error) {
            told.put("fault", String.valueOf(error.getMessage()));
        }
        return told;
    }

    private static ArrayNode endpoints(Seq<Endpoint> given) {
        ArrayNode told = JSON.createArrayNode();
        for (Iterator<Endpoint> each = given.iterator(); each.hasNext(); ) {
            Endpoint endpoint = each.next();
            ArrayNode one = told.addArray();
            one.add(endpoint.listener()).add(endpoint.host()).add(endpoint.port());
            one.add(endpoint.securityProtocol().name);
        }
        return told;
    }
}
