import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.Collections;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Properties;
import java.util.concurrent.Future;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.clients.producer.RecordMetadata;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.serialization.StringDeserializer;
import org.apache.kafka.common.serialization.StringSerializer;

/** Produces and reads with the clients of any release since 0.10.1; fields are separated by tabs, and "-" is null.
 *
 *  OldClient produce ADDRESS: for each line "CODEC TOPIC TIMESTAMP KEY VALUE" a record, for each empty line the end of a
 *  batch; prints "TOPIC OFFSET TIMESTAMP" of what was acknowledged.
 *  OldClient consume ADDRESS TOPIC...: prints "TOPIC OFFSET TIMESTAMP KEY VALUE" of all that partition 0 of each has, and
 *  commits the group "readers" behind it.
 */
public final class OldClient {
    public static void main(String[] arguments) throws Exception {
        if (arguments[0].equals("produce")) {
            produce(arguments[1]);
        } else {
            consume(arguments);
        }
    }

    private static void produce(String address) throws Exception {
        Map<String, KafkaProducer<String, String>> producers = new HashMap<>();
        Map<String, List<Future<RecordMetadata>>> sent = new LinkedHashMap<>();
        BufferedReader input = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
        for (String line = input.readLine(); line != null; line = input.readLine()) {
            if (line.isEmpty()) {
                acknowledge(producers, sent);
                continue;
            }
            String[] fields = line.split("\t", -1);
            producers.computeIfAbsent(fields[0], codec -> producer(address, codec));
            ProducerRecord<String, String> record = new ProducerRecord<>(
                fields[1], 0, Long.valueOf(fields[2]), text(fields[3]), text(fields[4]));
            sent.computeIfAbsent(fields[1], topic -> new ArrayList<>()).add(producers.get(fields[0]).send(record));
        }
        acknowledge(producers, sent);
        for (KafkaProducer<String, String> producer : producers.values()) {
            producer.close();
        }
    }

    private static void acknowledge(
            Map<String, KafkaProducer<String, String>> producers, Map<String, List<Future<RecordMetadata>>> sent)
            throws Exception {
        for (KafkaProducer<String, String> producer : producers.values()) {
            producer.flush();
        }
        for (List<Future<RecordMetadata>> futures : sent.values()) {
            for (Future<RecordMetadata> future : futures) {
                RecordMetadata metadata = future.get();
                System.out.println(metadata.topic() + "\t" + metadata.offset() + "\t" + metadata.timestamp());
            }
        }
        sent.clear();
    }

    private static KafkaProducer<String, String> producer(String address, String codec) {
        Properties settings = new Properties();
        settings.put("bootstrap.servers", address);
        settings.put("compression.type", codec);
        settings.put("linger.ms", "60000");
        settings.put("acks", "all");
        return new KafkaProducer<>(settings, new StringSerializer(), new StringSerializer());
    }

    private static void consume(String[] arguments) {
        Properties settings = new Properties();
        settings.put("bootstrap.servers", arguments[1]);
        settings.put("group.id", "readers");
        settings.put("enable.auto.commit", "false");
        settings.put("auto.offset.reset", "earliest");
        List<TopicPartition> partitions = new ArrayList<>();
        for (int argument = 2; argument < arguments.length; argument++) {
            partitions.add(new TopicPartition(arguments[argument], 0));
        }
        KafkaConsumer<String, String> consumer =
            new KafkaConsumer<>(settings, new StringDeserializer(), new StringDeserializer());
        consumer.assign(partitions);
        Map<TopicPartition, Long> ends = consumer.endOffsets(partitions);
        consumer.seekToBeginning(partitions);
        for (TopicPartition partition : partitions) {
            consumer.assign(Collections.singletonList(partition));
            consumer.seekToBeginning(Collections.singletonList(partition));
            while (consumer.position(partition) < ends.get(partition)) {
                for (ConsumerRecord<String, String> record : consumer.poll(100)) {
                    System.out.println(record.topic() + "\t" + record.offset() + "\t" + record.timestamp() + "\t"
                        + field(record.key()) + "\t" + field(record.value()));
                }
            }
            consumer.commitSync();
        }
        consumer.close();
    }

    private static String text(String field) {
        return field.equals("-") ? null : field;
    }

    private static String field(String text) {
        return text == null ? "-" : text;
    }
}
