import java.io.BufferedReader;
import java.io.File;
import java.io.InputStreamReader;
import java.io.PrintStream;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashMap;
import java.util.HexFormat;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Properties;
import java.util.concurrent.ConcurrentHashMap;
import java.util.stream.Collectors;
import java.util.zip.CRC32C;
import org.apache.kafka.common.compress.Compression;
import org.apache.kafka.common.record.TimestampType;
import org.apache.kafka.common.record.internal.ControlRecordType;
import org.apache.kafka.common.record.internal.EndTransactionMarker;
import org.apache.kafka.common.record.internal.FileRecords;
import org.apache.kafka.common.record.internal.MemoryRecords;
import org.apache.kafka.common.record.internal.MemoryRecordsBuilder;
import org.apache.kafka.common.record.internal.RecordBatch;
import org.apache.kafka.common.record.internal.Records;
import org.apache.kafka.common.utils.Time;
import org.apache.kafka.server.common.OffsetAndEpoch;
import org.apache.kafka.server.common.RequestLocal;
import org.apache.kafka.server.storage.log.FetchIsolation;
import org.apache.kafka.storage.internals.log.AppendOrigin;
import org.apache.kafka.storage.internals.log.FetchDataInfo;
import org.apache.kafka.storage.internals.log.LogAppendInfo;
import org.apache.kafka.storage.internals.log.LogConfig;
import org.apache.kafka.storage.internals.log.LogDirFailureChannel;
import org.apache.kafka.storage.internals.log.LogOffsetsListener;
import org.apache.kafka.storage.internals.log.LogSegment;
import org.apache.kafka.storage.internals.log.LogStartOffsetIncrementReason;
import org.apache.kafka.storage.internals.log.OffsetResultHolder;
import org.apache.kafka.storage.internals.log.ProducerStateManagerConfig;
import org.apache.kafka.storage.internals.log.UnifiedLog;
import org.apache.kafka.storage.internals.log.VerificationGuard;
import org.apache.kafka.storage.log.metrics.BrokerTopicStats;

/** One command a line on stdin, one result a line on stdout, over Kafka's own UnifiedLog. The commands are in README.md. */
public final class LogOracle {
    private static UnifiedLog log;
    private static ManualScheduler scheduler;
    private static final BrokerTopicStats STATS = new BrokerTopicStats();
    private static boolean autoTasks = true;
    /** How each directory was last left by this process: true = close, false = crash. */
    private static final Map<String, Boolean> leftClean = new HashMap<>();
    private static final Map<String, Long> leftRecoveryPoint = new HashMap<>();
    private static final Map<String, Long> leftLogStart = new HashMap<>();

    // ---- deterministic data: the other implementation must produce the same keys and values ----
    /** key of record i of a batch = ASCII "k" + i ; value byte j of record i = (i*31 + j*7 + 11) & 0xff */
    static byte[] key(int i) { return ("k" + i).getBytes(StandardCharsets.US_ASCII); }
    static byte[] value(int i, int size) {
        byte[] v = new byte[size];
        for (int j = 0; j < size; j++) v[j] = (byte) (i * 31 + j * 7 + 11);
        return v;
    }

    private static MemoryRecords batch(long base, int epoch, int n, int valueBytes, long ts, String codec, Map<String, String> o) {
        MemoryRecordsBuilder b = MemoryRecords.builder(ByteBuffer.allocate(512 + n * (valueBytes + 40)), RecordBatch.MAGIC_VALUE_V2,
            Compression.of(codec).build(), TimestampType.CREATE_TIME, base, RecordBatch.NO_TIMESTAMP,
            Long.parseLong(o.getOrDefault("pid", "-1")), Short.parseShort(o.getOrDefault("pepoch", "-1")),
            Integer.parseInt(o.getOrDefault("seq", "-1")), o.getOrDefault("txn", "0").equals("1"), epoch);
        long step = Long.parseLong(o.getOrDefault("tsStep", "1"));
        for (int i = 0; i < n; i++) b.append(ts + i * step, key(i), value(i, valueBytes));
        return b.build();
    }

    private static String[] bare(String[] a) { return Arrays.stream(a).filter(s -> s.indexOf('=') < 0).toArray(String[]::new); }
    private static Map<String, String> opts(String[] a) {
        Map<String, String> m = new HashMap<>();
        for (String s : a) { int e = s.indexOf('='); if (e >= 0) m.put(s.substring(0, e), s.substring(e + 1)); }
        return m;
    }

    private static LogConfig config(Map<String, String> o) {
        Properties p = new Properties();
        p.put("internal.segment.bytes", o.getOrDefault("segmentBytes", "1073741824"));
        p.put("index.interval.bytes", o.getOrDefault("indexInterval", "4096"));
        p.put("segment.index.bytes", o.getOrDefault("indexBytes", "10485760"));
        p.put("segment.ms", o.getOrDefault("segmentMs", "604800000"));
        p.put("retention.ms", o.getOrDefault("retentionMs", "-1"));
        p.put("retention.bytes", o.getOrDefault("retentionBytes", "-1"));
        p.put("file.delete.delay.ms", o.getOrDefault("deleteDelay", "0"));
        p.put("max.message.bytes", o.getOrDefault("maxMessageBytes", "104857600"));
        p.put("message.timestamp.type", o.getOrDefault("timestampType", "CreateTime"));
        p.put("message.timestamp.before.max.ms", o.getOrDefault("timestampBefore", Long.toString(Long.MAX_VALUE)));
        p.put("message.timestamp.after.max.ms", o.getOrDefault("timestampAfter", Long.toString(Long.MAX_VALUE)));
        p.put("cleanup.policy", o.getOrDefault("cleanup", "delete"));
        p.put("compression.type", o.getOrDefault("compressionType", "producer"));
        p.put("remote.storage.enable", o.getOrDefault("remote", "false"));
        p.put("preallocate", o.getOrDefault("preallocate", "false"));
        return new LogConfig(p);
    }

    private static String open(String[] a) throws Exception {
        if (log != null) throw new IllegalStateException("a log is open");
        Map<String, String> o = opts(a);
        File dir = new File(bare(a)[1]).getAbsoluteFile();
        Files.createDirectories(dir.toPath());
        String k = dir.getPath();
        boolean clean = o.containsKey("clean") ? Boolean.parseBoolean(o.get("clean")) : leftClean.getOrDefault(k, true);
        long rp = o.containsKey("recoveryPoint") ? Long.parseLong(o.get("recoveryPoint")) : leftRecoveryPoint.getOrDefault(k, 0L);
        long ls = o.containsKey("logStart") ? Long.parseLong(o.get("logStart")) : leftLogStart.getOrDefault(k, 0L);
        scheduler = new ManualScheduler();
        log = UnifiedLog.create(dir, config(o), ls, rp, scheduler, STATS, Time.SYSTEM, 900000,
            new ProducerStateManagerConfig(86400000, false), 600000, new LogDirFailureChannel(8), clean, Optional.empty(),
            new ConcurrentHashMap<>(), Boolean.parseBoolean(o.get("remote")), LogOffsetsListener.NO_OP_OFFSETS_LISTENER);
        return "ok clean=" + clean + " " + state();
    }

    private static String state() {
        return "logStart=" + log.logStartOffset() + " leo=" + log.logEndOffset() + " hw=" + log.highWatermark()
            + " recoveryPoint=" + log.recoveryPoint() + " segments=" + log.numberOfSegments();
    }

    private static void leave(boolean clean) {
        String k = log.dir().getAbsolutePath();
        leftClean.put(k, clean);
        leftRecoveryPoint.put(k, clean ? log.logEndOffset() : log.recoveryPoint());
        leftLogStart.put(k, log.logStartOffset());
    }

    private static String appended(LogAppendInfo i) {
        return i.firstOffset() + " " + i.lastOffset() + " maxTs=" + i.maxTimestamp() + " bytes=" + i.validBytes();
    }

    private static String crc(byte[] b) { CRC32C c = new CRC32C(); c.update(b); return String.format("%08x", c.getValue()); }

    private static byte[] bytes(Records r) throws Exception {
        ByteBuffer b;
        if (r instanceof FileRecords) {
            FileRecords f = (FileRecords) r;
            b = ByteBuffer.allocate(f.sizeInBytes());
            f.readInto(b, 0);
        } else {
            b = ((MemoryRecords) r).buffer().duplicate();
        }
        byte[] out = new byte[b.remaining()];
        b.get(out);
        return out;
    }

    private static String read(String[] a) throws Exception {
        FetchIsolation iso = a.length > 3 ? FetchIsolation.valueOf(a[3]) : FetchIsolation.LOG_END;
        boolean minOne = a.length <= 4 || Boolean.parseBoolean(a[4]);
        FetchDataInfo f = log.read(Long.parseLong(a[1]), Integer.parseInt(a[2]), iso, minOne);
        byte[] raw = bytes(f.records);
        long first = -1, last = -1;
        int n = 0, whole = 0;
        for (RecordBatch b : MemoryRecords.readableRecords(ByteBuffer.wrap(raw)).batches()) {
            if (n++ == 0) first = b.baseOffset();
            last = b.lastOffset();
            whole += b.sizeInBytes();
        }
        return first + " " + last + " bytes=" + whole + " crc=" + crc(Arrays.copyOf(raw, whole)) + " batches=" + n
            + " segment=" + f.fetchOffsetMetadata.segmentBaseOffset + " pos=" + f.fetchOffsetMetadata.relativePositionInSegment
            + " partialFirst=" + f.firstEntryIncomplete
            + f.abortedTransactions.map(l -> " aborted=" + l.stream().map(t -> t.producerId() + ":" + t.firstOffset()).collect(Collectors.joining(","))).orElse("");
    }

    private static String timestamp(long t) {
        OffsetResultHolder h = log.fetchOffsetByTimestamp(t, Optional.empty());
        return h.timestampAndOffsetOpt().map(r -> r.timestamp + " " + r.offset + " " + r.leaderEpoch.map(Object::toString).orElse("none")).orElse("none");
    }

    private static String dump() throws Exception {
        List<String> out = new ArrayList<>();
        File[] fs = log.dir().listFiles();
        Arrays.sort(fs);
        for (File f : fs) { byte[] b = Files.readAllBytes(f.toPath()); out.add(f.getName() + ":" + b.length + ":" + crc(b)); }
        return String.join(" ", out);
    }

    private static String run(String[] a) throws Exception {
        if (log == null && !List.of("open", "autotasks", "buildHex", "endTxnHex").contains(a[0])) throw new IllegalStateException("no log open");
        switch (a[0]) {
            case "open": return open(a);
            case "buildHex": {               // buildHex BASE EPOCH N VALUE_BYTES TS [codec] [k=v...]
                String[] b = bare(a);
                return HexFormat.of().formatHex(bytes(batch(Long.parseLong(b[1]), Integer.parseInt(b[2]), Integer.parseInt(b[3]),
                    Integer.parseInt(b[4]), Long.parseLong(b[5]), b.length > 6 ? b[6] : "none", opts(a))));
            }
            case "appendLeader": {           // appendLeader EPOCH N VALUE_BYTES TS [codec] [pid= pepoch= seq= txn=1 tsStep=]
                String[] b = bare(a);
                return appended(log.appendAsLeader(batch(0, -1, Integer.parseInt(b[2]), Integer.parseInt(b[3]), Long.parseLong(b[4]),
                    b.length > 5 ? b[5] : "none", opts(a)), Integer.parseInt(b[1])));
            }
            case "appendLeaderHex":
                return appended(log.appendAsLeader(MemoryRecords.readableRecords(ByteBuffer.wrap(HexFormat.of().parseHex(a[2]))), Integer.parseInt(a[1])));
            case "appendMarkerHex":          // appendMarkerHex EPOCH HEX  (as the coordinator, transaction version 1)
                return appended(log.appendAsLeader(MemoryRecords.readableRecords(ByteBuffer.wrap(HexFormat.of().parseHex(a[2]))), Integer.parseInt(a[1]),
                    AppendOrigin.COORDINATOR, RequestLocal.noCaching(), VerificationGuard.SENTINEL, (short) 1));
            case "appendFollowerHex":        // appendFollowerHex EPOCH HEX
                return appended(log.appendAsFollower(MemoryRecords.readableRecords(ByteBuffer.wrap(HexFormat.of().parseHex(a[2]))), Integer.parseInt(a[1])));
            case "appendFollower":           // appendFollower EPOCH FILE  (raw batch bytes)
                return appended(log.appendAsFollower(MemoryRecords.readableRecords(ByteBuffer.wrap(Files.readAllBytes(Path.of(a[2])))), Integer.parseInt(a[1])));
            case "endTxn": {                 // endTxn EPOCH PID PEPOCH commit|abort TS [transactionVersion=1]
                EndTransactionMarker m = new EndTransactionMarker(a[4].equals("commit") ? ControlRecordType.COMMIT : ControlRecordType.ABORT, 0);
                return appended(log.appendAsLeader(MemoryRecords.withEndTransactionMarker(0, Long.parseLong(a[5]), -1, Long.parseLong(a[2]), Short.parseShort(a[3]), m),
                    Integer.parseInt(a[1]), AppendOrigin.COORDINATOR, RequestLocal.noCaching(), VerificationGuard.SENTINEL,
                    a.length > 6 ? Short.parseShort(a[6]) : (short) 1));
            }
            case "endTxnHex": {              // endTxnHex PID PEPOCH commit|abort TS [COORDINATOR_EPOCH] -> the marker's batch
                EndTransactionMarker m = new EndTransactionMarker(a[3].equals("commit") ? ControlRecordType.COMMIT : ControlRecordType.ABORT, a.length > 5 ? Integer.parseInt(a[5]) : 0);
                return HexFormat.of().formatHex(bytes(MemoryRecords.withEndTransactionMarker(0, Long.parseLong(a[4]), -1, Long.parseLong(a[1]), Short.parseShort(a[2]), m)));
            }
            case "assignEpoch": log.assignEpochStartOffset(Integer.parseInt(a[1]), Long.parseLong(a[2])); return "ok";
            case "truncateTo": return log.truncateTo(Long.parseLong(a[1])) + " " + state();
            case "truncateFullyAndStartAt":
                log.truncateFullyAndStartAt(Long.parseLong(a[1]), a.length > 2 ? Optional.of(Long.parseLong(a[2])) : Optional.empty());
                return "ok " + state();
            case "roll": return Long.toString((a.length > 1 ? log.roll(Optional.of(Long.parseLong(a[1]))) : log.roll()).baseOffset());
            case "flush": log.flush(a.length > 1 && a[1].equals("true")); return "ok recoveryPoint=" + log.recoveryPoint();
            case "hw": if (a.length > 1) log.updateHighWatermark(Long.parseLong(a[1])); return Long.toString(log.highWatermark());
            case "lso": return Long.toString(log.lastStableOffset());
            case "read": return read(a);
            case "leo": return Long.toString(log.logEndOffset());
            case "logStart": return Long.toString(log.logStartOffset());
            case "recoveryPoint": return Long.toString(log.recoveryPoint());
            case "state": return state();
            case "size": return Long.toString(log.size());
            case "segments": return log.logSegments().stream().map(s -> s.baseOffset() + ":" + s.size()).collect(Collectors.joining(" "));
            case "indexes": {
                List<String> out = new ArrayList<>();
                for (LogSegment s : log.logSegments()) out.add(s.baseOffset() + ":offset=" + s.offsetIndex().entries() + ":time=" + s.timeIndex().entries());
                return String.join(" ", out);
            }
            case "index": {                  // index BASE -> every offset-index entry (offset:position)
                for (LogSegment s : log.logSegments()) if (s.baseOffset() == Long.parseLong(a[1])) {
                    List<String> out = new ArrayList<>();
                    for (int i = 0; i < s.offsetIndex().entries(); i++) out.add(s.offsetIndex().entry(i).offset() + ":" + s.offsetIndex().entry(i).position());
                    return out.isEmpty() ? "empty" : String.join(" ", out);
                }
                return "none";
            }
            case "timeindex": {              // timeindex BASE -> every time-index entry (timestamp:offset)
                for (LogSegment s : log.logSegments()) if (s.baseOffset() == Long.parseLong(a[1])) {
                    List<String> out = new ArrayList<>();
                    for (int i = 0; i < s.timeIndex().entries(); i++) out.add(s.timeIndex().entry(i).timestamp() + ":" + s.timeIndex().entry(i).offset());
                    return out.isEmpty() ? "empty" : String.join(" ", out);
                }
                return "none";
            }
            case "epochs": return log.leaderEpochCache().epochEntries().stream().map(e -> e.epoch() + ":" + e.startOffset()).collect(Collectors.joining(" "));
            case "endOffsetForEpoch": {
                Optional<OffsetAndEpoch> r = log.endOffsetForEpoch(Integer.parseInt(a[1]));
                return r.map(x -> x.epoch() + " " + x.offset()).orElse("none");
            }
            case "offsetForTimestamp": return timestamp(Long.parseLong(a[1]));
            case "deleteRecords": {
                boolean changed = log.maybeIncrementLogStartOffset(Long.parseLong(a[1]), LogStartOffsetIncrementReason.ClientRecordDeletion);
                return changed + " " + state();
            }
            case "largest":                  // every segment's largest timestamp
                return log.logSegments().stream().map(s -> { try { return Long.toString(s.maxTimestampSoFar()); } catch (java.io.IOException e) { throw new java.io.UncheckedIOException(e); } }).collect(Collectors.joining(" "));
            case "deleteOldSegments": return log.deleteOldSegments() + " " + state();
            case "tasks": return String.join(",", scheduler.runAll()) + " ran";
            case "autotasks": autoTasks = Boolean.parseBoolean(a[1]); return "ok";
            case "files": { String[] n = log.dir().list(); Arrays.sort(n); return String.join(" ", n); }
            case "dump": return dump();      // every file: name:size:crc32c
            case "close": {
                scheduler.runAll();
                Leaving.inOrder(log);
                leave(true);
                String s = state();
                log = null;
                return "ok " + s;
            }
            case "crash": {                  // nothing flushed, nothing trimmed, queued tasks lost
                scheduler.drop();
                leave(false);
                String s = state();
                Leaving.asItIs(log);
                log.removeLogMetrics();
                log = null;
                return "ok " + s;
            }
            default: throw new UnsupportedOperationException("unknown command " + a[0]);
        }
    }

    public static void main(String[] args) throws Exception {
        PrintStream out = new PrintStream(System.out, false, StandardCharsets.UTF_8);
        BufferedReader in = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
        String line;
        while ((line = in.readLine()) != null) {
            line = line.strip();
            if (line.isEmpty() || line.startsWith("#")) continue;
            String result;
            try {
                result = run(line.split("\\s+"));
            } catch (Throwable t) {
                result = "ERR " + t.getClass().getSimpleName() + " " + String.valueOf(t.getMessage()).replace("\n", "\\n");
            }
            try {
                if (autoTasks && log != null) scheduler.runAll();
            } catch (Throwable t) {
                result += " TASKERR " + t;
            }
            out.println(result);
            if (!in.ready()) out.flush();
        }
        out.flush();
        System.exit(0);
    }
}
