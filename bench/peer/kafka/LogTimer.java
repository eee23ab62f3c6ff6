import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.Properties;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import org.apache.kafka.common.record.internal.FileRecords;
import org.apache.kafka.common.record.internal.MemoryRecords;
import org.apache.kafka.common.record.internal.RecordBatch;
import org.apache.kafka.common.utils.Time;
import org.apache.kafka.server.storage.log.FetchIsolation;
import org.apache.kafka.storage.internals.log.FetchDataInfo;
import org.apache.kafka.storage.internals.log.LogConfig;
import org.apache.kafka.storage.internals.log.LogDirFailureChannel;
import org.apache.kafka.storage.internals.log.LogOffsetsListener;
import org.apache.kafka.storage.internals.log.ProducerStateManagerConfig;
import org.apache.kafka.storage.internals.log.UnifiedLog;
import org.apache.kafka.storage.log.metrics.BrokerTopicStats;

/** Times Kafka's own UnifiedLog: see Stopwatch for how it is asked. Commands tell the log's end; appends add its size. */
public final class LogTimer {
    private static final BrokerTopicStats STATS = new BrokerTopicStats();
    private static UnifiedLog log;
    private static final List<UnifiedLog> logs = new ArrayList<>();
    private static final List<MemoryRecords> calls = new ArrayList<>();
    private static long[] offsets;
    private static long[] timestamps;
    private static ByteBuffer target;

    private static LogConfig config(String segmentBytes) {
        Properties properties = new Properties();
        properties.put("internal.segment.bytes", segmentBytes);
        properties.put("retention.ms", "-1");
        properties.put("max.message.bytes", "104857600");
        properties.put("message.timestamp.after.max.ms", Long.toString(Long.MAX_VALUE));
        return new LogConfig(properties);
    }

    private static UnifiedLog open(String directory, LogConfig config, boolean clean) throws IOException {
        return UnifiedLog.create(Path.of(directory).toFile(), config, 0L, 0L, new ManualScheduler(), STATS, Time.SYSTEM, 900000,
            new ProducerStateManagerConfig(86400000, false), 600000, new LogDirFailureChannel(8), clean,
            Optional.empty(), new ConcurrentHashMap<>(), false, LogOffsetsListener.NO_OP_OFFSETS_LISTENER);
    }

    /** open DIRECTORY SEGMENT_BYTES CLEAN */
    private static long open(String directory, String segmentBytes, String clean) throws IOException {
        LogConfig config = config(segmentBytes);
        Stopwatch.start();
        log = open(directory, config, Boolean.parseBoolean(clean));
        Stopwatch.stop();
        return log.logEndOffset();
    }

    /** recover SEGMENT_BYTES DIRECTORY...: all at once, in as many threads, and let go of them */
    private static long recover(String[] words) throws Exception {
        LogConfig config = config(words[1]);
        ExecutorService threads = Executors.newFixedThreadPool(words.length - 2);
        List<Future<UnifiedLog>> opening = new ArrayList<>();
        long found = 0;
        Stopwatch.start();
        for (int i = 2; i < words.length; i++) {
            String directory = words[i];
            opening.add(threads.submit(() -> open(directory, config, false)));
        }
        for (Future<UnifiedLog> each : opening) found += each.get().logEndOffset();
        Stopwatch.stop();
        for (Future<UnifiedLog> each : opening) letGo(each.get());
        threads.shutdown();
        return found;
    }

    private static void letGo(UnifiedLog log) {
        log.closeHandlers();
        log.removeLogMetrics();
    }

    /** crash: let go of the files as they are */
    private static long crash() {
        letGo(log);
        return 0;
    }

    private static long close() {
        log.close();
        return 0;
    }

    /** batches FILE BYTES: what the appends take, in calls of so many bytes */
    private static long batches(String file, String bytes) throws IOException {
        ByteBuffer all = ByteBuffer.wrap(Files.readAllBytes(Path.of(file)));
        int size = Integer.parseInt(bytes);
        calls.clear();
        for (int start = 0; start < all.limit(); start += size) {
            ByteBuffer call = ByteBuffer.allocate(size);
            call.put(all.array(), start, size).flip();
            calls.add(MemoryRecords.readableRecords(call));
        }
        return calls.size();
    }

    /** Lets the batches of a call follow the log's end. */
    private static void number(ByteBuffer call, long offset) {
        for (int position = 0; position < call.limit(); position += 12 + call.getInt(position + 8)) {
            call.putLong(position, offset);
            offset += call.getInt(position + 23) + 1;
        }
    }

    private static long follow(int count) {
        for (int number = 0; number < count; number++) {
            MemoryRecords call = calls.get(number % calls.size());
            number(call.buffer(), log.logEndOffset());
            Stopwatch.start();
            log.appendAsFollower(call, 0);
            Stopwatch.stop();
        }
        return log.logEndOffset() + log.size();
    }

    /** openAll SEGMENT_BYTES DIRECTORY...: logs that are appended to in turn */
    private static long openAll(String[] words) throws IOException {
        LogConfig config = config(words[1]);
        for (int i = 2; i < words.length; i++) logs.add(open(words[i], config, true));
        return logs.size();
    }

    /** followAll ROUNDS: one call to each log, as ReplicaManager goes over the partitions of a request */
    private static long followAll(int rounds) {
        for (int round = 0; round < rounds; round++) {
            for (int i = 0; i < logs.size(); i++) number(calls.get(i).buffer(), logs.get(i).logEndOffset());
            Stopwatch.start();
            for (int i = 0; i < logs.size(); i++) logs.get(i).appendAsFollower(calls.get(i), 0);
            Stopwatch.stop();
        }
        long ends = 0;
        for (UnifiedLog each : logs) ends += each.logEndOffset() + each.size();
        return ends;
    }

    private static long crashAll() {
        logs.forEach(LogTimer::letGo);
        logs.clear();
        return 0;
    }

    private static long lead(int count) throws IOException {
        for (int number = 0; number < count; number++) {
            MemoryRecords call = calls.get(number % calls.size());
            call.buffer().putLong(0, 0);
            Stopwatch.start();
            log.appendAsLeader(call, 0);
            Stopwatch.stop();
        }
        return log.logEndOffset() + log.size();
    }

    /** queries FILE: as many offsets as timestamps to look for */
    private static long queries(String file) throws IOException {
        long[] numbers = Stopwatch.longs(file);
        offsets = new long[numbers.length / 2];
        timestamps = new long[offsets.length];
        System.arraycopy(numbers, 0, offsets, 0, offsets.length);
        System.arraycopy(numbers, offsets.length, timestamps, 0, offsets.length);
        log.updateHighWatermark(log.logEndOffset());
        return log.logEndOffset();
    }

    /** read MAX_BYTES ISOLATION: a slice of the file for each offset; Kafka ends it within a batch */
    private static long read(int maxBytes, FetchIsolation isolation) throws IOException {
        long found = 0;
        Stopwatch.start();
        for (long offset : offsets) found += log.read(offset, maxBytes, isolation, true).records.sizeInBytes();
        Stopwatch.stop();
        return found;
    }

    /** readInto MAX_BYTES: as read, with the bytes copied to a buffer, as for a client that TLS is spoken with */
    private static long readInto(int maxBytes) throws IOException {
        if (target == null || target.capacity() < 2 * maxBytes) target = ByteBuffer.allocateDirect(2 * maxBytes);
        Stopwatch.start();
        for (long offset : offsets) {
            FetchDataInfo found = log.read(offset, maxBytes, FetchIsolation.LOG_END, true);
            target.clear().limit(found.records.sizeInBytes());
            ((FileRecords) found.records).readInto(target, 0);
        }
        Stopwatch.stop();
        return 0;
    }

    /** whole MAX_BYTES ISOLATION: the bytes of all whole batches that these reads find */
    private static long whole(int maxBytes, FetchIsolation isolation) throws IOException {
        long found = 0;
        for (long offset : offsets) {
            for (RecordBatch batch : log.read(offset, maxBytes, isolation, true).records.batches()) found += batch.sizeInBytes() + batch.baseOffset();
        }
        return found;
    }

    private static long find() {
        long found = 0;
        Stopwatch.start();
        for (long timestamp : timestamps) found += log.fetchOffsetByTimestamp(timestamp, Optional.empty()).timestampAndOffsetOpt().get().offset;
        Stopwatch.stop();
        return found;
    }

    private static long truncate(long offset) {
        Stopwatch.start();
        log.truncateTo(offset);
        Stopwatch.stop();
        return log.logEndOffset();
    }

    private static long run(String[] words) throws Exception {
        switch (words[0]) {
            case "open": return open(words[1], words[2], words[3]);
            case "recover": return recover(words);
            case "crash": return crash();
            case "close": return close();
            case "batches": return batches(words[1], words[2]);
            case "follow": return follow(Integer.parseInt(words[1]));
            case "openAll": return openAll(words);
            case "followAll": return followAll(Integer.parseInt(words[1]));
            case "crashAll": return crashAll();
            case "lead": return lead(Integer.parseInt(words[1]));
            case "queries": return queries(words[1]);
            case "read": return read(Integer.parseInt(words[1]), FetchIsolation.valueOf(words[2]));
            case "readInto": return readInto(Integer.parseInt(words[1]));
            case "whole": return whole(Integer.parseInt(words[1]), FetchIsolation.valueOf(words[2]));
            case "find": return find();
            case "truncate": return truncate(Long.parseLong(words[1]));
            default: throw new IllegalArgumentException(words[0]);
        }
    }

    public static void main(String[] arguments) throws IOException {
        Stopwatch.serve(LogTimer::run);
    }
}
