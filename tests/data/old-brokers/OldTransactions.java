import java.nio.charset.StandardCharsets;
import java.util.Properties;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.common.serialization.StringSerializer;

/** Writes transactions with the clients of any release since 0.11: each third one is aborted, and the last is left open.
 *
 *  OldTransactions ADDRESS TOPIC CODEC COUNT TIMESTAMP
 */
public final class OldTransactions {
    public static void main(String[] arguments) {
        Properties settings = new Properties();
        settings.put("bootstrap.servers", arguments[0]);
        settings.put("compression.type", arguments[2]);
        settings.put("transactional.id", "writer-of-" + arguments[1]);
        KafkaProducer<String, String> producer =
            new KafkaProducer<>(settings, new StringSerializer(), new StringSerializer());
        producer.initTransactions();
        int count = Integer.parseInt(arguments[3]);
        for (int number = 0; number < count; number++) {
            producer.beginTransaction();
            for (int each = 0; each < 3; each++) {
                ProducerRecord<String, String> record = new ProducerRecord<>(
                    arguments[1], 0, Long.valueOf(arguments[4]) + number, "t" + number, "record " + each);
                record.headers().add("transaction", String.valueOf(number).getBytes(StandardCharsets.UTF_8));
                record.headers().add("none", null);
                producer.send(record);
            }
            producer.flush();
            if (number == count - 1) {
                Runtime.getRuntime().halt(0); // as a crash would
            }
            if (number % 3 == 2) {
                producer.abortTransaction();
            } else {
                producer.commitTransaction();
            }
        }
    }
}
