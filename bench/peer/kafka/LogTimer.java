import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.lang.management.ManagementFactory;
import java.nio.ByteBuffer;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.Properties;
import java.util.concurrent.ConcurrentHashMap;
import java.util.function.LongSupplier;
import org.apache.kafka.common.record.internal.FileRecords;
import org.apache.kafka.common.record.internal.MemoryRecords;
import org.apache.kafka.common.utils.Time;
import org.apache.kafka.server.storage.log.FetchIsolation;
import org.apache.kafka.storage.internals.log.FetchDataInfo;
import org.apache.kafka.storage.internals.log.LogConfig;
import org.apache.kafka.storage.internals.log.LogDirFailureChannel;
import org.apache.kafka.storage.internals.log.LogOffsetsListener;
import org.apache.kafka.storage.internals.log.ProducerStateManagerConfig;
import org.apache.kafka.storage.internals.log.UnifiedLog;
import org.apache.kafka.storage.log.metrics.BrokerTopicStats;

/** Times Kafka's own UnifiedLog: one command a line on stdin, the nanoseconds that it took on stdout. */
public final class LogTimer {
    private static final BrokerTopicStats STATS = new BrokerTopicStats();
    private static UnifiedLog log;
    private static final List<MemoryRecords> calls = new ArrayList<>();
    private static long[] offsets;
    private static long[] timestamps;
    private static ByteBuffer target;
    private static LongSupplier clock = System::nanoTime;
    static volatile long sink;

    /** clock NAME: wall, or processor for the time of this thread alone */
    private static long clock(String name) {
        clock = name.equals("wall") ? System::nanoTime : ManagementFactory.getThreadMXBean()::getCurrentThreadCpuTime;
        return 0;
    }

    private static LogConfig config(String segmentBytes) {
        Properties properties = new Properties();
        properties.put("internal.segment.bytes", segmentBytes);
        properties.put("retention.ms", "-1");
        properties.put("max.message.bytes", "104857600");
        properties.put("message.timestamp.after.max.ms", Long.toString(Long.MAX_VALUE));
        return new LogConfig(properties);
    }

    /** open DIRECTORY SEGMENT_BYTES CLEAN */
    private static long open(String directory, String segmentBytes, String clean) throws Exception {
        LogConfig config = config(segmentBytes);
        long start = clock.getAsLong();
        log = UnifiedLog.create(Path.of(directory).toFile(), config, 0L, 0L, new ManualScheduler(), STATS, Time.SYSTEM, 900000,
            new ProducerStateManagerConfig(86400000, false), 600000, new LogDirFailureChannel(8), Boolean.parseBoolean(clean),
            Optional.empty(), new ConcurrentHashMap<>(), false, LogOffsetsListener.NO_OP_OFFSETS_LISTENER);
        return clock.getAsLong() - start;
    }

    /** crash: let go of the files as they are */
    private static long crash() {
        log.closeHandlers();
        log.removeLogMetrics();
        return 0;
    }

    private static long close() throws Exception {
        log.close();
        return 0;
    }

    /** batches FILE BYTES: what the appends take, in calls of so many bytes */
    private static long batches(String file, String bytes) throws Exception {
        ByteBuffer all = ByteBuffer.wrap(Files.readAllBytes(Path.of(file)));
        int size = Integer.parseInt(bytes);
        calls.clear();
        for (int start = 0; start < all.limit(); start += size) {
            ByteBuffer call = ByteBuffer.allocate(size);
            call.put(all.array(), start, size).flip();
            calls.add(MemoryRecords.readableRecords(call));
        }
        return 0;
    }

    /** Lets the batches of a call follow the log's end. */
    private static void number(ByteBuffer call, long offset) {
        for (int position = 0; position < call.limit(); position += 12 + call.getInt(position + 8)) {
            call.putLong(position, offset);
            offset += call.getInt(position + 23) + 1;
        }
    }

    private static long follow(int count) {
        long spent = 0;
        for (int number = 0; number < count; number++) {
            MemoryRecords call = calls.get(number % calls.size());
            number(call.buffer(), log.logEndOffset());
            long start = clock.getAsLong();
            log.appendAsFollower(call, 0);
            spent += clock.getAsLong() - start;
        }
        return spent;
    }

    private static long lead(int count) throws Exception {
        long spent = 0;
        for (int number = 0; number < count; number++) {
            MemoryRecords call = calls.get(number % calls.size());
            call.buffer().putLong(0, 0);
            long start = clock.getAsLong();
            log.appendAsLeader(call, 0);
            spent += clock.getAsLong() - start;
        }
        return spent;
    }

    /** queries FILE: as many offsets as timestamps to look for */
    private static long queries(String file) throws Exception {
        ByteBuffer all = ByteBuffer.wrap(Files.readAllBytes(Path.of(file)));
        offsets = new long[all.remaining() / 16];
        timestamps = new long[offsets.length];
        for (int i = 0; i < offsets.length; i++) offsets[i] = all.getLong();
        for (int i = 0; i < offsets.length; i++) timestamps[i] = all.getLong();
        log.updateHighWatermark(log.logEndOffset());
        return 0;
    }

    private static long read(int maxBytes, FetchIsolation isolation) throws Exception {
        long start = clock.getAsLong();
        for (long offset : offsets) sink += log.read(offset, maxBytes, isolation, true).records.sizeInBytes();
        return clock.getAsLong() - start;
    }

    /** As read, with the bytes copied to a buffer, as for a client that TLS is spoken with. */
    private static long readInto(int maxBytes) throws Exception {
        if (target == null || target.capacity() < 2 * maxBytes) target = ByteBuffer.allocateDirect(2 * maxBytes);
        long start = clock.getAsLong();
        for (long offset : offsets) {
            FetchDataInfo found = log.read(offset, maxBytes, FetchIsolation.LOG_END, true);
            target.clear().limit(found.records.sizeInBytes());
            ((FileRecords) found.records).readInto(target, 0);
        }
        return clock.getAsLong() - start;
    }

    private static long find() {
        long start = clock.getAsLong();
        for (long timestamp : timestamps) sink += log.fetchOffsetByTimestamp(timestamp, Optional.empty()).timestampAndOffsetOpt().get().offset;
        return clock.getAsLong() - start;
    }

    private static long truncate(long offset) throws Exception {
        long start = clock.getAsLong();
        log.truncateTo(offset);
        return clock.getAsLong() - start;
    }

    private static long run(String[] words) throws Exception {
        switch (words[0]) {
            case "clock": return clock(words[1]);
            case "open": return open(words[1], words[2], words[3]);
            case "crash": return crash();
            case "close": return close();
            case "batches": return batches(words[1], words[2]);
            case "follow": return follow(Integer.parseInt(words[1]));
            case "lead": return lead(Integer.parseInt(words[1]));
            case "queries": return queries(words[1]);
            case "read": return read(Integer.parseInt(words[1]), FetchIsolation.LOG_END);
            case "readStable": return read(Integer.parseInt(words[1]), FetchIsolation.HIGH_WATERMARK);
            case "readInto": return readInto(Integer.parseInt(words[1]));
            case "find": return find();
            case "truncate": return truncate(Long.parseLong(words[1]));
            default: throw new IllegalArgumentException(words[0]);
        }
    }

    public static void main(String[] arguments) throws Exception {
        BufferedReader in = new BufferedReader(new InputStreamReader(System.in));
        for (String line = in.readLine(); line != null; line = in.readLine()) {
            try {
                System.out.println(run(line.split(" ")));
            } catch (Exception error) {
                System.out.println(error.toString().replace('\n', ' '));
            }
        }
    }
}
