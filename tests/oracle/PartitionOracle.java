import java.io.BufferedReader;
import java.io.File;
import java.io.InputStreamReader;
import java.lang.reflect.Constructor;
import java.lang.reflect.Proxy;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collection;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Properties;
import java.util.TreeSet;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ConcurrentHashMap;
import java.util.function.Supplier;
import java.util.stream.Collectors;
import kafka.cluster.DelayedOperations;
import kafka.cluster.Partition;
import org.apache.kafka.common.DirectoryId;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.Uuid;
import org.apache.kafka.common.compress.Compression;
import org.apache.kafka.common.protocol.Errors;
import org.apache.kafka.common.record.TimestampType;
import org.apache.kafka.common.record.internal.MemoryRecords;
import org.apache.kafka.common.record.internal.MemoryRecordsBuilder;
import org.apache.kafka.common.record.internal.RecordBatch;
import org.apache.kafka.common.requests.FetchRequest;
import org.apache.kafka.common.utils.Time;
import org.apache.kafka.metadata.LeaderAndIsr;
import org.apache.kafka.metadata.LeaderRecoveryState;
import org.apache.kafka.metadata.MetadataCache;
import org.apache.kafka.metadata.PartitionRegistration;
import org.apache.kafka.server.common.RequestLocal;
import org.apache.kafka.server.partition.AlterPartitionListener;
import org.apache.kafka.server.storage.log.FetchIsolation;
import org.apache.kafka.server.storage.log.FetchParams;
import org.apache.kafka.storage.internals.log.AppendOrigin;
import org.apache.kafka.storage.internals.log.LogConfig;
import org.apache.kafka.storage.internals.log.LogDirFailureChannel;
import org.apache.kafka.storage.internals.log.LogOffsetsListener;
import org.apache.kafka.storage.internals.log.ProducerStateManagerConfig;
import org.apache.kafka.storage.internals.log.UnifiedLog;
import org.apache.kafka.storage.internals.log.VerificationGuard;
import org.apache.kafka.storage.log.metrics.BrokerTopicStats;
import scala.Option;

/** Drives Kafka's Partition as a leader, over a real log; the controller and the metadata are the caller's. */
public final class PartitionOracle {
    private static final int LEADER = 1;
    private static final Uuid TOPIC = new Uuid(0, 1000);
    private static final TopicPartition PARTITION = new TopicPartition("orders", 0);
    private static final BrokerTopicStats STATS = new BrokerTopicStats();

    private record Broker(long epoch, String state) { }
    private record Ask(LeaderAndIsr change, CompletableFuture<LeaderAndIsr> answer) { }

    private static final Map<Integer, Broker> brokers = new HashMap<>();
    private static final List<Ask> asked = new ArrayList<>();
    private static int told;
    private static long now;
    private static Partition partition;
    private static UnifiedLog log;

    public static void main(String[] arguments) throws Exception {
        BufferedReader in = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
        for (String line = in.readLine(); line != null; line = in.readLine()) {
            System.out.println(answer(line.split(" ")));
            System.out.flush();
        }
    }

    private static String answer(String[] words) {
        String result;
        try {
            result = done(words);
        } catch (Throwable error) {
            Errors known = Errors.forException(error);
            result = known == Errors.UNKNOWN_SERVER_ERROR ? "ERR:" + error.toString().replace(' ', '_') : known.name();
        }
        return result + " " + state();
    }

    private static String done(String[] words) throws Exception {
        switch (words[0]) {
            case "reset" -> brokers.clear();
            case "broker" -> brokers.put(id(words[1]), new Broker(Long.parseLong(words[2]), words[3]));
            case "time" -> now = Long.parseLong(words[1]);
            case "lead" -> { open(words); return lead(words[6]); }
            case "metadata" -> { return lead(words[1]); }
            case "append" -> partition.appendRecordsToLeader(batch(id(words[1])), AppendOrigin.CLIENT, id(words[2]),
                RequestLocal.noCaching(), VerificationGuard.SENTINEL, (short) 0);
            case "fetch" -> fetch(words);
            case "lag" -> partition.maybeShrinkIsr();
            case "answer" -> tell(asked.get(id(words[1])).answer(), words);
            case "delete" -> partition.deleteRecordsOnLeader(Long.parseLong(words[1]));
            case "reached" -> { return reached(Long.parseLong(words[1])); }
            case "close" -> close();
            default -> throw new IllegalArgumentException(words[0]);
        }
        return "NONE";
    }

    private static void open(String[] words) throws Exception {
        asked.clear();
        told = 0;
        Properties settings = new Properties();
        settings.put("min.insync.replicas", words[2]);
        settings.put("retention.ms", "-1");
        settings.put("segment.index.bytes", "4096");
        File directory = new File(words[1]);
        directory.mkdirs();
        log = UnifiedLog.create(directory, new LogConfig(settings), 0, 0, new ManualScheduler(), STATS, Time.SYSTEM, 900000,
            new ProducerStateManagerConfig(86400000, false), 600000, new LogDirFailureChannel(8), true,
            Optional.of(TOPIC), new ConcurrentHashMap<>(), false, LogOffsetsListener.NO_OP_OFFSETS_LISTENER);
        int records = id(words[4]);
        if (records > 0)
            log.appendAsLeader(batch(records), id(words[6].split("/")[2]) - 1, AppendOrigin.CLIENT, RequestLocal.noCaching(), VerificationGuard.SENTINEL, (short) 0);
        log.updateHighWatermark(Long.parseLong(words[5]));
        partition = partition(Long.parseLong(words[3]));
        partition.setLog(log, false);
    }

    private static void close() {
        log.close();
        Partition.removeMetrics(PARTITION);
        partition = null;
    }

    private static Partition partition(long lagMs) throws Exception {
        DelayedOperations nobodyWaits = new DelayedOperations(Option.empty(), PARTITION, null, null, null, null) {
            @Override public void checkAndCompleteAll() { }
            @Override public int numDelayedDelete() { return 0; }
        };
        Constructor<?> constructor = Partition.class.getConstructors()[0];
        Class<?> changes = constructor.getParameterTypes()[9];  // in one package in one release, in another in the next
        scala.Function0<Object> ownEpoch = new scala.runtime.AbstractFunction0<>() {
            public Object apply() { return brokers.get(LEADER).epoch(); }
        };
        return (Partition) constructor.newInstance(PARTITION, lagMs, LEADER, ownEpoch, new Clock(),
            stub(AlterPartitionListener.class, Map.of()), nobodyWaits, metadata(), null,
            stub(changes, Map.of("submit", PartitionOracle::ask)), Option.apply(TOPIC));
    }

    private interface Answer { Object to(Object[] arguments); }

    @SuppressWarnings("unchecked")
    private static <T> T stub(Class<T> type, Map<String, Answer> answers) {
        return (T) Proxy.newProxyInstance(type.getClassLoader(), new Class<?>[] {type},
            (self, method, arguments) -> {
                Answer answer = answers.get(method.getName());
                return answer == null ? null : answer.to(arguments);
            });
    }

    private static MetadataCache metadata() {
        return stub(MetadataCache.class, Map.of(
            "hasAliveBroker", each -> alive(each[0]).isPresent(),
            "getAliveBrokerEpoch", each -> alive(each[0]).map(Broker::epoch),
            "isBrokerFenced", each -> is(each[0], "fenced"),
            "isBrokerShuttingDown", each -> is(each[0], "stopping")));
    }

    private static Optional<Broker> alive(Object id) {
        return Optional.ofNullable(brokers.get(id)).filter(each -> each.state().equals("active") || each.state().equals("stopping"));
    }

    private static boolean is(Object id, String state) {
        return brokers.containsKey(id) && brokers.get(id).state().equals(state);
    }

    private static Object ask(Object[] arguments) {
        Ask ask = new Ask((LeaderAndIsr) arguments[1], new CompletableFuture<>());
        asked.add(ask);
        return ask.answer();
    }

    private static String lead(String given) {
        PartitionRegistration state = registration(given.split("/"));
        int before = partition.getPartitionEpoch();
        partition.makeLeader(state, false, (directory, each) -> Optional.empty(), Option.apply(TOPIC), Option.empty());
        return state.partitionEpoch < before ? "OLD" : "NONE";
    }

    private static PartitionRegistration registration(String[] given) {
        int[] replicas = ids(given[0]);
        return new PartitionRegistration.Builder()
            .setReplicas(replicas)
            .setDirectories(DirectoryId.unassignedArray(replicas.length))
            .setIsr(ids(given[1]))
            .setLeader(LEADER)
            .setLeaderEpoch(id(given[2]))
            .setPartitionEpoch(id(given[3]))
            .setLeaderRecoveryState(LeaderRecoveryState.of(Byte.parseByte(given[4])))
            .build();
    }

    private static void fetch(String[] words) {
        FetchParams terms = new FetchParams(id(words[1]), Long.parseLong(words[2]), 0, 0, 1 << 20, FetchIsolation.LOG_END, Optional.empty());
        Optional<Integer> epoch = id(words[5]) < 0 ? Optional.empty() : Optional.of(id(words[5]));
        FetchRequest.PartitionData wanted =
            new FetchRequest.PartitionData(TOPIC, Long.parseLong(words[3]), Long.parseLong(words[4]), 1 << 20, epoch);
        partition.fetchRecords(terms, wanted, now, 1 << 20, true, true);
    }

    private static void tell(CompletableFuture<LeaderAndIsr> future, String[] words) {
        Errors error = Errors.valueOf(words[2]);
        if (error != Errors.NONE) { future.completeExceptionally(error.exception()); return; }
        String[] state = words[3].split("/");
        List<Integer> isr = Arrays.stream(ids(state[1])).boxed().toList();
        future.complete(new LeaderAndIsr(LEADER, id(state[2]), isr, LeaderRecoveryState.of(Byte.parseByte(state[4])), id(state[3])));
    }

    private static String reached(long offset) {
        scala.Tuple2<Object, Errors> answer = partition.checkEnoughReplicasReachOffset(offset);
        return (Boolean) answer._1() ? answer._2().name() : "WAIT";
    }

    private static String state() {
        if (partition == null) return "-";
        String asks = asked.subList(told, asked.size()).stream().map(each -> told(each.change())).collect(Collectors.joining(";"));
        told = asked.size();
        return String.join(" ", Integer.toString(partition.getLeaderEpoch()), Integer.toString(partition.getPartitionEpoch()),
            Long.toString(log.highWatermark()), Long.toString(log.logEndOffset()), value(partition::lowWatermarkIfLeader),
            sorted(partition.partitionState().isr()), sorted(partition.partitionState().maximalIsr()), asks.isEmpty() ? "-" : asks,
            log.leaderEpochCache().epochEntries().stream().map(e -> e.epoch() + ":" + e.startOffset()).collect(Collectors.joining(",")));
    }

    private static String value(Supplier<Object> asked) {
        try { return asked.get().toString(); } catch (RuntimeException error) { return error.getClass().getSimpleName(); }
    }

    private static String told(LeaderAndIsr change) {
        String isr = change.isrWithBrokerEpoch().stream().sorted((a, b) -> a.brokerId() - b.brokerId())
            .map(each -> each.brokerId() + ":" + each.brokerEpoch()).collect(Collectors.joining(","));
        return isr + "/" + change.leaderEpoch() + "/" + change.partitionEpoch() + "/" + change.leaderRecoveryState().value();
    }

    private static String sorted(Collection<Integer> ids) {
        return new TreeSet<>(ids).stream().map(String::valueOf).collect(Collectors.joining(","));
    }

    private static int[] ids(String given) {
        return Arrays.stream(given.split(",")).mapToInt(Integer::parseInt).toArray();
    }

    private static int id(String word) { return Integer.parseInt(word); }

    private static MemoryRecords batch(int records) {
        MemoryRecordsBuilder builder = MemoryRecords.builder(ByteBuffer.allocate(200 + records * 40), RecordBatch.MAGIC_VALUE_V2,
            Compression.NONE, TimestampType.CREATE_TIME, 0);
        for (int i = 0; i < records; i++) builder.append(System.currentTimeMillis(), null, new byte[] {1});
        return builder.build();
    }

    /** Stands still until a command moves it. */
    private static final class Clock implements Time {
        public long milliseconds() { return now; }
        public long nanoseconds() { return now * 1_000_000; }
        public long hiResClockMs() { return now; }
        public void sleep(long ms) { }
        public void waitObject(Object object, Supplier<Boolean> condition, long deadlineMs) { }
        public <T> T waitForFuture(CompletableFuture<T> future, long deadlineNs) { return future.join(); }
    }
}
