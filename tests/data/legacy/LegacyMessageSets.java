import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.HexFormat;
import java.util.List;
import java.util.StringJoiner;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.compress.Compression;
import org.apache.kafka.common.record.AbstractRecords;
import org.apache.kafka.common.record.CompressionType;
import org.apache.kafka.common.record.MemoryRecords;
import org.apache.kafka.common.record.MemoryRecordsBuilder;
import org.apache.kafka.common.record.MutableRecordBatch;
import org.apache.kafka.common.record.Record;
import org.apache.kafka.common.record.SimpleRecord;
import org.apache.kafka.common.record.TimestampType;
import org.apache.kafka.common.utils.Time;

/** Writes log files of magic 0 and 1 with Kafka's own client, and NAME.json with what that client reads from each. */
public final class LegacyMessageSets {
    private static final long CREATED = 1_400_000_000_000L;
    private static final long APPENDED = 1_450_000_000_000L;
    private static final HexFormat HEX = HexFormat.of();

    private final Path directory;

    private LegacyMessageSets(Path directory) {
        this.directory = directory;
    }

    public static void main(String[] arguments) throws IOException {
        LegacyMessageSets sets = new LegacyMessageSets(Path.of(arguments[0]));
        for (byte magic = 0; magic <= 1; magic++) {
            for (CompressionType codec : List.of(CompressionType.NONE, CompressionType.GZIP, CompressionType.SNAPPY, CompressionType.LZ4)) {
                sets.write("magic" + magic + "-" + codec.name, List.of(
                    build(magic, codec, TimestampType.CREATE_TIME, 0, small()),
                    build(magic, codec, TimestampType.CREATE_TIME, 4, List.of(record(9, "single", "one"))),
                    build(magic, codec, TimestampType.CREATE_TIME, 105, large())));
            }
        }
        for (CompressionType codec : List.of(CompressionType.NONE, CompressionType.GZIP)) {
            sets.write("magic1-append-time-" + codec.name, List.of(
                build((byte) 1, codec, TimestampType.LOG_APPEND_TIME, 70, small())));
        }
        sets.write("compacted", List.of(
            compacted((byte) 0, CompressionType.GZIP), compacted((byte) 1, CompressionType.LZ4)));
        sets.write("converted", List.of(converted((byte) 0), converted((byte) 1)));
        sets.write("upgraded", List.of(
            build((byte) 0, CompressionType.LZ4, TimestampType.CREATE_TIME, 0, small()),
            build((byte) 1, CompressionType.SNAPPY, TimestampType.CREATE_TIME, 4, small()),
            build((byte) 1, CompressionType.NONE, TimestampType.CREATE_TIME, 8, small()),
            build((byte) 2, CompressionType.GZIP, TimestampType.CREATE_TIME, 12, small()),
            build((byte) 2, CompressionType.NONE, TimestampType.CREATE_TIME, 16, small())));
    }

    /** A wrapped set whose first and third records are gone, offsets kept. */
    private static MemoryRecords compacted(byte magic, CompressionType codec) {
        int base = magic == 0 ? 200 : 300;
        MemoryRecords whole = build(magic, codec, TimestampType.CREATE_TIME, base, small());
        ByteBuffer kept = ByteBuffer.allocate(4096);
        whole.filterTo(new TopicPartition("t", 0), new MemoryRecords.RecordFilter(0, 0) {
            @Override
            protected BatchRetentionResult checkBatchRetention(org.apache.kafka.common.record.RecordBatch batch) {
                return new BatchRetentionResult(BatchRetention.DELETE_EMPTY, false);
            }

            @Override
            protected boolean shouldRetainRecord(org.apache.kafka.common.record.RecordBatch batch, Record record) {
                return (record.offset() - base) % 2 == 1;
            }
        }, kept, Integer.MAX_VALUE, org.apache.kafka.common.utils.BufferSupplier.NO_CACHING);
        kept.flip();
        return MemoryRecords.readableRecords(kept);
    }

    /** What a new broker sends to an old consumer: batches of magic 2 converted down. */
    private static MemoryRecords converted(byte magic) {
        MemoryRecords current = build((byte) 2, CompressionType.GZIP, TimestampType.CREATE_TIME, 500 + magic * 100, small());
        return (MemoryRecords) current.downConvert(magic, 0, Time.SYSTEM).records();
    }

    private static MemoryRecords build(byte magic, CompressionType codec, TimestampType type, long base, List<SimpleRecord> records) {
        ByteBuffer buffer = ByteBuffer.allocate(AbstractRecords.estimateSizeInBytesUpperBound(magic, codec, new byte[0], new byte[0], new org.apache.kafka.common.header.Header[0]) + 65536);
        TimestampType stored = magic == 0 ? TimestampType.NO_TIMESTAMP_TYPE : type;
        try (MemoryRecordsBuilder builder = MemoryRecords.builder(buffer, magic, Compression.of(codec).build(), stored, base, APPENDED)) {
            for (int i = 0; i < records.size(); i++) {
                builder.appendWithOffset(base + i, records.get(i));
            }
            return builder.build();
        }
    }

    private static List<SimpleRecord> small() {
        return List.of(record(0, "k0", "first"), record(5, null, "no key"), record(3, "gone", null), record(4, null, null));
    }

    private static List<SimpleRecord> large() {
        List<SimpleRecord> records = new ArrayList<>();
        for (int i = 0; i < 24; i++) {
            records.add(record(i, "key-" + i % 3, "value ".repeat(i) + i));
        }
        return records;
    }

    private static SimpleRecord record(long milliseconds, String key, String value) {
        return new SimpleRecord(CREATED + milliseconds, bytes(key), bytes(value));
    }

    private static byte[] bytes(String text) {
        return text == null ? null : text.getBytes(java.nio.charset.StandardCharsets.UTF_8);
    }

    private void write(String name, List<MemoryRecords> parts) throws IOException {
        int size = parts.stream().mapToInt(MemoryRecords::sizeInBytes).sum();
        ByteBuffer whole = ByteBuffer.allocate(size);
        parts.forEach(part -> whole.put(part.buffer()));
        Files.write(directory.resolve(name + ".log"), whole.array());
        whole.flip();
        Files.writeString(directory.resolve(name + ".json"), describe(MemoryRecords.readableRecords(whole)));
    }

    private static String describe(MemoryRecords records) {
        StringJoiner batches = new StringJoiner(",\n ", "[\n ", "\n]\n");
        int position = 0;
        for (MutableRecordBatch batch : records.batches()) {
            StringJoiner inside = new StringJoiner(",\n   ", "[\n   ", "]");
            for (Record record : batch) {
                inside.add("[%d, %d, %s, %s]".formatted(record.offset(), record.timestamp(), hex(record.key()), hex(record.value())));
            }
            batches.add(("{\"position\": %d, \"size\": %d, \"magic\": %d, \"codec\": \"%s\", \"timestamp_type\": \"%s\", "
                + "\"base_offset\": %d, \"last_offset\": %d, \"max_timestamp\": %d, \"checksum\": %d, \"valid\": %b,\n  \"records\": %s}").formatted(
                position, batch.sizeInBytes(), batch.magic(), batch.compressionType().name, batch.timestampType().name,
                batch.baseOffset(), batch.lastOffset(), batch.maxTimestamp(), batch.checksum(), batch.isValid(), inside));
            position += batch.sizeInBytes();
        }
        return batches.toString();
    }

    private static String hex(ByteBuffer bytes) {
        if (bytes == null) {
            return "null";
        }
        byte[] copy = new byte[bytes.remaining()];
        bytes.duplicate().get(copy);
        return '"' + HEX.formatHex(copy) + '"';
    }
}
