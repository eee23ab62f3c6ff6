import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import org.apache.kafka.clients.admin.Admin;
import org.apache.kafka.clients.admin.NewTopic;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.serialization.StringDeserializer;
import org.apache.kafka.common.serialization.StringSerializer;

/**
 * Kafka's own clients, one command a line: "create TOPIC", "consume TOPIC COUNT SECONDS" (offset:key=value ...),
 * "produce TOPIC FIRST COUNT CODEC" (values are numbers; answers the last offset).
 */
public final class BrokerClient {
    private final Map<String, Object> address;

    private BrokerClient(String servers) { address = Map.of("bootstrap.servers", servers, "default.api.timeout.ms", "60000"); }

    private String create(String topic) throws Exception {
        try (Admin admin = Admin.create(address)) {
            return admin.createTopics(List.of(new NewTopic(topic, Optional.of(1), Optional.empty()))).topicId(topic).get().toString();
        }
    }

    private String consume(String topic, int count, int seconds) {
        StringBuilder told = new StringBuilder();
        long deadline = System.nanoTime() + seconds * 1_000_000_000L;
        try (KafkaConsumer<String, String> consumer = new KafkaConsumer<>(address, new StringDeserializer(), new StringDeserializer())) {
            TopicPartition partition = new TopicPartition(topic, 0);
            consumer.assign(List.of(partition));
            consumer.seekToBeginning(List.of(partition));
            for (int left = count; left > 0 && System.nanoTime() < deadline; ) {
                for (var record : consumer.poll(Duration.ofMillis(200))) {
                    told.append(record.offset()).append(':').append(record.key()).append('=').append(record.value()).append(' ');
                    left--;
                }
            }
        }
        return told.toString().strip();
    }

    private String produce(String topic, int first, int count, String codec) throws Exception {
        Map<String, Object> settings = new java.util.HashMap<>(address);
        settings.put("compression.type", codec);
        long last = -1;
        try (KafkaProducer<String, String> producer = new KafkaProducer<>(settings, new StringSerializer(), new StringSerializer())) {
            for (int i = first; i < first + count; i++) last = producer.send(new ProducerRecord<>(topic, 0, "key", Integer.toString(i))).get().offset();
        }
        return Long.toString(last);
    }

    private String run(String[] a) throws Exception {
        switch (a[0]) {
            case "create": return create(a[1]);
            case "consume": return consume(a[1], Integer.parseInt(a[2]), Integer.parseInt(a[3]));
            case "produce": return produce(a[1], Integer.parseInt(a[2]), Integer.parseInt(a[3]), a[4]);
            default: throw new IllegalArgumentException(a[0]);
        }
    }

    public static void main(String[] arguments) throws Exception {
        BrokerClient client = new BrokerClient(arguments[0]);
        BufferedReader in = new BufferedReader(new InputStreamReader(System.in));
        for (String line = in.readLine(); line != null; line = in.readLine()) {
            String answer;
            try {
                answer = client.run(line.split(" "));
            } catch (Exception e) {
                answer = "ERR " + e;
            }
            System.out.println(answer.replace("\n", " "));
        }
    }
}
