import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.StringJoiner;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.clients.producer.RecordMetadata;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.serialization.StringDeserializer;
import org.apache.kafka.common.serialization.StringSerializer;

/**
 * Kafka's own transactional producers, one command a line: "open ID TIMEOUT_MS" (a producer of that transactional id), "begin ID",
 * "send ID VALUE TOPIC:PARTITION ..." (all have it by the time of the answer: their offsets), "commit ID", "abort ID",
 * "close ID" (without a word to the coordinator),
 * "at once ID PRODUCERS TRANSACTIONS TOPIC:PARTITION ..." (so many producers at the same time, of which each aborts every third of its
 * transactions: the values of the others), "read SERVERS TOPIC:PARTITION" (all values that are committed).
 */
public final class TransactionClient {
    private final String servers;
    private final Map<String, KafkaProducer<String, String>> producers = new HashMap<>();

    private TransactionClient(String servers) { this.servers = servers; }

    private String open(String id, int timeoutMs) {
        Map<String, Object> settings = new HashMap<>();
        settings.put("bootstrap.servers", servers);
        settings.put("transactional.id", id);
        settings.put("transaction.timeout.ms", timeoutMs);
        settings.put("max.block.ms", 120_000);
        settings.put("delivery.timeout.ms", 120_000);
        settings.put("linger.ms", 0);
        var producer = new KafkaProducer<>(settings, new StringSerializer(), new StringSerializer());
        producers.put(id, producer);
        producer.initTransactions();
        return "ok";
    }

    private String send(String id, String value, List<String> partitions) throws Exception {
        List<Future<RecordMetadata>> sent = new ArrayList<>();
        for (String each : partitions) {
            TopicPartition to = partition(each);
            sent.add(producers.get(id).send(new ProducerRecord<>(to.topic(), to.partition(), "key", value)));
        }
        StringJoiner told = new StringJoiner(" ");
        for (var each : sent) told.add(Long.toString(each.get().offset()));
        return told.toString();
    }

    private String atOnce(String id, int count, int transactions, List<String> partitions) throws Exception {
        for (int i = 0; i < count; i++) open(id + "-" + i, 120_000);
        ExecutorService threads = Executors.newFixedThreadPool(count);
        List<Future<String>> all = new ArrayList<>();
        for (int i = 0; i < count; i++) {
            String name = id + "-" + i;
            all.add(threads.submit(() -> transactions(name, transactions, partitions)));
        }
        threads.shutdown();
        StringJoiner told = new StringJoiner(" ");
        for (var each : all) told.add(each.get());
        return told.toString();
    }

    private String transactions(String name, int count, List<String> partitions) throws Exception {
        var producer = producers.get(name);
        StringJoiner committed = new StringJoiner(" ");
        for (int i = 0; i < count; i++) {
            producer.beginTransaction();
            for (String each : partitions) {
                TopicPartition to = partition(each);
                for (int part = 0; part < 3; part++) producer.send(new ProducerRecord<>(to.topic(), to.partition(), "key", name + "-" + i + "-" + part));
            }
            if (i % 3 == 2) {
                producer.flush();
                producer.abortTransaction();
                continue;
            }
            producer.commitTransaction();
            for (int part = 0; part < 3; part++) committed.add(name + "-" + i + "-" + part);
        }
        return committed.toString();
    }

    private String read(String from, TopicPartition partition) {
        Map<String, Object> settings = new HashMap<>();
        settings.put("bootstrap.servers", from);
        settings.put("isolation.level", "read_committed");
        StringJoiner told = new StringJoiner(" ");
        try (var consumer = new KafkaConsumer<>(settings, new StringDeserializer(), new StringDeserializer())) {
            consumer.assign(List.of(partition));
            consumer.seekToBeginning(List.of(partition));
            long end = consumer.endOffsets(List.of(partition)).get(partition);
            while (consumer.position(partition) < end) {
                for (var record : consumer.poll(Duration.ofMillis(200))) told.add(record.value());
            }
        }
        return told.toString();
    }

    private static TopicPartition partition(String told) {
        String[] parts = told.split(":");
        return new TopicPartition(parts[0], Integer.parseInt(parts[1]));
    }

    private String run(String[] a) throws Exception {
        switch (a[0]) {
            case "open": return open(a[1], Integer.parseInt(a[2]));
            case "begin": producers.get(a[1]).beginTransaction(); return "ok";
            case "send": return send(a[1], a[2], List.of(a).subList(3, a.length));
            case "commit": producers.get(a[1]).commitTransaction(); return "ok";
            case "abort": producers.get(a[1]).abortTransaction(); return "ok";
            case "close": producers.remove(a[1]).close(Duration.ZERO); return "ok";
            case "at": return atOnce(a[2], Integer.parseInt(a[3]), Integer.parseInt(a[4]), List.of(a).subList(5, a.length));
            case "read": return read(a[1], partition(a[2]));
            default: throw new IllegalArgumentException(a[0]);
        }
    }

    public static void main(String[] arguments) throws Exception {
        TransactionClient client = new TransactionClient(arguments[0]);
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
