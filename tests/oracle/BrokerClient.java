import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.time.Duration;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.StringJoiner;
import org.apache.kafka.clients.admin.Admin;
import org.apache.kafka.clients.admin.NewTopic;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.clients.consumer.LogTruncationException;
import org.apache.kafka.clients.consumer.OffsetAndMetadata;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.serialization.StringDeserializer;
import org.apache.kafka.common.serialization.StringSerializer;

import static java.util.stream.Collectors.joining;

/**
 * Kafka's own clients, one command a line: "create TOPIC", "consume TOPIC COUNT SECONDS" (offset:key=value ...),
 * "produce TOPIC FIRST COUNT CODEC" (values are numbers; answers the last offset), "connect SERVERS" (to others from now on),
 * "times TOPIC:PARTITION:TIME ..." (the first offset not earlier of each, or -1), "position POLICY TOPIC:PARTITION:OFFSET:EPOCH"
 * ("at" the first record that comes, or "truncated" at an offset), "follow POLICY TOPIC:PARTITION"
 * (from its start on), "next COUNT" (the offsets that come, or "truncated" at an offset), "stop", "subscribe GROUP COUNT POLICY TOPIC ..." (TOPIC:PARTITION:OFFSET of
 * each record, committed).
 */
public final class BrokerClient {
    private Map<String, Object> address;
    private KafkaConsumer<String, String> follower;

    private BrokerClient(String servers) { connect(servers); }

    private void connect(String servers) { address = Map.of("bootstrap.servers", servers, "default.api.timeout.ms", "60000"); }

    private String create(String topic) throws Exception {
        try (Admin admin = Admin.create(address)) {
            return admin.createTopics(List.of(new NewTopic(topic, Optional.of(1), Optional.empty()))).topicId(topic).get().toString();
        }
    }

    private String consume(String topic, int count, int seconds) {
        StringBuilder told = new StringBuilder();
        long deadline = System.nanoTime() + seconds * 1_000_000_000L;
        try (KafkaConsumer<String, String> consumer = consumer(Map.of())) {
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
        Map<String, Object> settings = new HashMap<>(address);
        settings.put("compression.type", codec);
        long last = -1;
        try (KafkaProducer<String, String> producer = new KafkaProducer<>(settings, new StringSerializer(), new StringSerializer())) {
            for (int i = first; i < first + count; i++) last = producer.send(new ProducerRecord<>(topic, 0, "key", Integer.toString(i))).get().offset();
        }
        return Long.toString(last);
    }

    private KafkaConsumer<String, String> consumer(Map<String, Object> more) {
        Map<String, Object> settings = new HashMap<>(address);
        settings.putAll(more);
        return new KafkaConsumer<>(settings, new StringDeserializer(), new StringDeserializer());
    }

    private String times(List<String> asked) {
        Map<TopicPartition, Long> times = new LinkedHashMap<>();
        for (String each : asked) times.put(partition(each), Long.parseLong(each.split(":")[2]));
        try (KafkaConsumer<String, String> consumer = consumer(Map.of())) {
            var found = consumer.offsetsForTimes(times);
            return times.keySet().stream().map(each -> found.get(each) == null ? "-1" : Long.toString(found.get(each).offset())).collect(joining(" "));
        }
    }

    private String position(String policy, String asked) {
        TopicPartition partition = partition(asked);
        String[] parts = asked.split(":");
        try (KafkaConsumer<String, String> consumer = consumer(Map.of("auto.offset.reset", policy))) {
            consumer.assign(List.of(partition));
            consumer.seekToBeginning(List.of(partition));
            consumer.position(partition); // from now on it knows who leads, in which epoch
            consumer.seek(partition, new OffsetAndMetadata(Long.parseLong(parts[2]), Optional.of(Integer.parseInt(parts[3])), ""));
            for (;;) {
                for (var record : consumer.poll(Duration.ofSeconds(1))) return "at " + record.offset();
            }
        } catch (LogTruncationException truncation) {
            return "truncated " + truncation.divergentOffsets().get(partition).offset();
        }
    }

    private String follow(String policy, String asked) {
        stop();
        follower = consumer(Map.of("auto.offset.reset", policy));
        follower.assign(List.of(partition(asked)));
        follower.seekToBeginning(List.of(partition(asked)));
        return "ok";
    }

    private String next(int count) {
        StringJoiner told = new StringJoiner(" ");
        try {
            for (int left = count; left > 0; ) {
                for (var record : follower.poll(Duration.ofSeconds(1))) {
                    told.add(Long.toString(record.offset()));
                    left--;
                }
            }
        } catch (LogTruncationException truncation) {
            return "truncated " + truncation.divergentOffsets().values().iterator().next().offset();
        }
        return told.toString();
    }

    private String stop() {
        if (follower != null) follower.close();
        follower = null;
        return "ok";
    }

    private String subscribe(String group, int count, String policy, List<String> topics) {
        StringJoiner told = new StringJoiner(" ");
        try (KafkaConsumer<String, String> consumer = consumer(Map.of("group.id", group, "auto.offset.reset", policy))) {
            consumer.subscribe(topics);
            for (int left = count; left > 0; ) {
                for (var record : consumer.poll(Duration.ofSeconds(1))) {
                    told.add(record.topic() + ":" + record.partition() + ":" + record.offset());
                    left--;
                }
            }
            consumer.commitSync();
        }
        return told.toString();
    }

    private static TopicPartition partition(String told) {
        String[] parts = told.split(":");
        return new TopicPartition(parts[0], Integer.parseInt(parts[1]));
    }

    private String run(String[] a) throws Exception {
        switch (a[0]) {
            case "create": return create(a[1]);
            case "consume": return consume(a[1], Integer.parseInt(a[2]), Integer.parseInt(a[3]));
            case "produce": return produce(a[1], Integer.parseInt(a[2]), Integer.parseInt(a[3]), a[4]);
            case "connect": connect(a[1]); return "ok";
            case "times": return times(List.of(a).subList(1, a.length));
            case "position": return position(a[1], a[2]);
            case "follow": return follow(a[1], a[2]);
            case "next": return next(Integer.parseInt(a[1]));
            case "stop": return stop();
            case "subscribe": return subscribe(a[1], Integer.parseInt(a[2]), a[3], List.of(a).subList(4, a.length));
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
