import java.io.File;
import java.io.IOException;
import org.apache.kafka.common.record.internal.FileLogInputStream.FileChannelRecordBatch;
import org.apache.kafka.common.record.internal.FileRecords;
import org.apache.kafka.common.record.internal.Record;

/** Times how Kafka's own FileRecords walk over a log file: see Stopwatch for how it is asked. */
public final class ScanTimer {
    /** headers FILE: every batch, all of its header */
    private static long headers(FileRecords file) {
        long found = 0;
        for (FileChannelRecordBatch batch : file.batches()) found += batch.lastOffset() + batch.maxTimestamp() + batch.partitionLeaderEpoch();
        return found;
    }

    /** checksums FILE: every batch, with its checksum checked */
    private static long checksums(FileRecords file) {
        long found = 0;
        for (FileChannelRecordBatch batch : file.batches()) {
            batch.ensureValid();
            found += batch.lastOffset();
        }
        return found;
    }

    /** records FILE: every record of every batch */
    private static long records(FileRecords file) {
        long found = 0;
        for (FileChannelRecordBatch batch : file.batches()) for (Record record : batch) found += record.offset() + record.valueSize();
        return found;
    }

    private static long walk(String kind, FileRecords file) {
        switch (kind) {
            case "headers": return headers(file);
            case "checksums": return checksums(file);
            case "records": return records(file);
            default: throw new IllegalArgumentException(kind);
        }
    }

    private static long run(String[] words) throws IOException {
        Stopwatch.start();
        try (FileRecords file = FileRecords.open(new File(words[1]), false)) {
            return walk(words[0], file);
        } finally {
            Stopwatch.stop();
        }
    }

    public static void main(String[] arguments) throws IOException {
        Stopwatch.serve(ScanTimer::run);
    }
}
