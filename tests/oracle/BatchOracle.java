import java.io.BufferedReader;
import java.io.File;
import java.io.InputStreamReader;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import java.util.StringJoiner;
import org.apache.kafka.common.DirectoryId;
import org.apache.kafka.common.Uuid;
import org.apache.kafka.common.record.internal.FileRecords;
import org.apache.kafka.common.record.internal.Record;
import org.apache.kafka.common.record.internal.RecordBatch;
import org.apache.kafka.common.utils.*; // of one of these packages, by the release
import org.apache.kafka.common.utils.internals.*;

/** What a consumer that checks checksums (as it does by default) reads of each batch of a `.log` file. */
public final class BatchOracle {
    /** Of each batch COUNT:FIRST-LAST, by its records' offsets, or the exception's name. */
    private static String read(File file) throws Exception {
        StringJoiner told = new StringJoiner(" ");
        try (FileRecords records = FileRecords.open(file, false)) {
            for (RecordBatch batch : records.batches()) told.add(batch(batch));
        }
        return told.toString();
    }

    private static String batch(RecordBatch batch) {
        long count = 0;
        long first = -1;
        long last = -1;
        try {
            batch.ensureValid();
            try (CloseableIterator<Record> records = batch.streamingIterator(BufferSupplier.create())) {
                while (records.hasNext()) {
                    Record record = records.next();
                    record.ensureValid();
                    record.key();
                    record.value();
                    record.headers();
                    if (count++ == 0) first = record.offset();
                    last = record.offset();
                }
            }
        } catch (RuntimeException failed) {
            return failed.getClass().getSimpleName();
        }
        return count + ":" + first + "-" + last;
    }

    private static String answer(String command, String argument) throws Exception {
        return switch (command) {
            case "read" -> read(new File(argument));
            case "reserved" -> String.valueOf(DirectoryId.reserved(Uuid.fromString(argument)));
            default -> throw new IllegalArgumentException(command);
        };
    }

    public static void main(String[] args) throws Exception {
        BufferedReader in = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
        PrintStream out = new PrintStream(System.out, true, StandardCharsets.UTF_8);
        String line;
        while ((line = in.readLine()) != null) {
            String[] words = line.split(" ", 2);
            out.println(answer(words[0], words[1]));
        }
    }
}
