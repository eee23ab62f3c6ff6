import java.io.BufferedReader;
import java.io.File;
import java.io.InputStreamReader;
import java.io.PrintStream;
import java.lang.reflect.Method;
import java.nio.charset.StandardCharsets;
import java.util.Arrays;
import java.util.HashMap;
import java.util.Map;
import java.util.Optional;
import java.util.Properties;
import java.util.concurrent.ConcurrentHashMap;
import org.apache.kafka.common.utils.Time;
import org.apache.kafka.storage.internals.log.Cleaner;
import org.apache.kafka.storage.internals.log.LogCleanerManager;
import org.apache.kafka.storage.internals.log.LogConfig;
import org.apache.kafka.storage.internals.log.LogDirFailureChannel;
import org.apache.kafka.storage.internals.log.LogOffsetsListener;
import org.apache.kafka.storage.internals.log.LogToClean;
import org.apache.kafka.storage.internals.log.ProducerStateManagerConfig;
import org.apache.kafka.storage.internals.log.SkimpyOffsetMap;
import org.apache.kafka.storage.internals.log.UnifiedLog;
import org.apache.kafka.storage.internals.utils.Throttler;
import org.apache.kafka.storage.log.metrics.BrokerTopicStats;

/** One command a line on stdin, one result a line on stdout, over Kafka's own Cleaner. The command is in README.md. */
public final class CompactionOracle {
    private static final BrokerTopicStats STATS = new BrokerTopicStats();

    private static LogConfig config(Map<String, String> o) {
        Properties p = new Properties();
        p.put("internal.segment.bytes", o.getOrDefault("segmentBytes", "1073741824"));
        p.put("index.interval.bytes", o.getOrDefault("indexInterval", "4096"));
        p.put("segment.index.bytes", o.getOrDefault("indexBytes", "10485760"));
        p.put("cleanup.policy", "compact");
        p.put("delete.retention.ms", o.getOrDefault("deleteRetention", "86400000"));
        p.put("min.compaction.lag.ms", o.getOrDefault("minLag", "0"));
        p.put("file.delete.delay.ms", "0");
        p.put("max.message.bytes", "104857600");
        return new LogConfig(p);
    }

    /** The offsets that the cleaner's manager would let be cleaned: the first dirty one, the first that is not. */
    private static long[] cleanable(UnifiedLog log, Optional<Long> checkpoint, long now) throws Exception {
        Method decide = Arrays.stream(LogCleanerManager.class.getDeclaredMethods())
            .filter(m -> m.getName().equals("cleanableOffsets")).findFirst().orElseThrow();
        decide.setAccessible(true);
        Object found = decide.invoke(null, log, checkpoint, now);
        long[] offsets = new long[2];
        String[] names = {"firstDirtyOffset", "firstUncleanableDirtyOffset"};
        for (int i = 0; i < 2; i++) {
            Method get = found.getClass().getDeclaredMethod(names[i]);
            get.setAccessible(true);
            offsets[i] = (long) get.invoke(found);
        }
        return offsets;
    }

    private static String clean(String dir, Map<String, String> o) throws Exception {
        ManualScheduler scheduler = new ManualScheduler();
        UnifiedLog log = UnifiedLog.create(new File(dir).getAbsoluteFile(), config(o), Long.parseLong(o.getOrDefault("logStart", "0")),
            0L, scheduler, STATS, Time.SYSTEM, 900000, new ProducerStateManagerConfig(86400000, false), 600000,
            new LogDirFailureChannel(8), true, Optional.empty(), new ConcurrentHashMap<>(), false,
            LogOffsetsListener.NO_OP_OFFSETS_LISTENER);
        try {
            log.updateHighWatermark(Long.parseLong(o.get("hw")));
            long now = Long.parseLong(o.get("now"));
            long[] offsets = cleanable(log, Optional.ofNullable(o.get("dirty")).map(Long::valueOf), now);
            LogToClean toClean = new LogToClean(log, offsets[0], offsets[1], false);
            String range = offsets[0] + " " + toClean.firstUncleanableOffset() + " " + toClean.cleanableBytes() + " " + toClean.cleanBytes();
            if (toClean.cleanableBytes() == 0) return "none " + range;
            int keys = Integer.parseInt(o.getOrDefault("maxKeys", "100000"));
            Cleaner cleaner = new Cleaner(0, new SkimpyOffsetMap(keys * 2 * 24), 1 << 20, 1 << 24, 0.5,
                new Throttler(Double.MAX_VALUE, 300, "cleaner-io", "bytes", Time.SYSTEM), Time.SYSTEM, partition -> { });
            long end = cleaner.doClean(toClean, now).getKey();
            scheduler.runAll();
            return "ok " + range + " " + end;
        } finally {
            Leaving.inOrder(log);
            scheduler.runAll();
            log.removeLogMetrics();
        }
    }

    public static void main(String[] args) throws Exception {
        PrintStream out = new PrintStream(System.out, false, StandardCharsets.UTF_8);
        BufferedReader in = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
        String line;
        while ((line = in.readLine()) != null) {
            String[] words = line.strip().split("\\s+");
            Map<String, String> options = new HashMap<>();
            for (String word : words) { int e = word.indexOf('='); if (e >= 0) options.put(word.substring(0, e), word.substring(e + 1)); }
            String result;
            try {
                result = clean(words[1], options);
            } catch (Throwable t) {
                java.io.StringWriter trace = new java.io.StringWriter();
                t.printStackTrace(new java.io.PrintWriter(trace));
                result = "ERR " + trace.toString().replace("\n", "\\n");
            }
            out.println(result);
            out.flush();
        }
        System.exit(0);
    }
}
