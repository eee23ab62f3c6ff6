import java.io.BufferedReader;
import java.io.File;
import java.io.InputStreamReader;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import java.util.HashMap;
import java.util.Map;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.Uuid;
import org.apache.kafka.common.config.AbstractConfig;
import org.apache.kafka.common.utils.Time;
import org.apache.kafka.raft.MetadataLogConfig;
import org.apache.kafka.raft.ValidOffsetAndEpoch;
import org.apache.kafka.raft.internals.KafkaRaftLog;
import org.apache.kafka.server.common.OffsetAndEpoch;

/** One command a line on stdin, one result a line on stdout, over Kafka's own KafkaRaftLog. The commands are in README.md. */
public final class RaftLogOracle {
    private static final MetadataLogConfig CONFIG = new MetadataLogConfig(new AbstractConfig(MetadataLogConfig.CONFIG_DEF, Map.of(), false));
    private static final Map<String, KafkaRaftLog> logs = new HashMap<>();

    private static String open(String name, String directory) throws Exception {
        KafkaRaftLog log = KafkaRaftLog.createLog(
            new TopicPartition("__cluster_metadata", 0), Uuid.METADATA_TOPIC_ID, new File(directory), Time.SYSTEM, new ManualScheduler(), CONFIG, 1);
        logs.put(name, log);
        return log.startOffset() + " " + log.endOffset().offset() + " " + log.lastFetchedEpoch() + " " + told(log.earliestSnapshotId().orElse(null)) + " " + told(log.latestSnapshotId().orElse(null));
    }

    private static String told(OffsetAndEpoch id) { return id == null ? "none" : id.epoch() + ":" + id.offset(); }

    private static String validate(KafkaRaftLog log, int epoch, long offset) {
        ValidOffsetAndEpoch valid = log.validateOffsetAndEpoch(offset, epoch);
        return valid.kind().name().toLowerCase() + (valid.kind() == ValidOffsetAndEpoch.Kind.VALID ? "" : " " + told(valid.offsetAndEpoch()));
    }

    private static String run(String[] a) throws Exception {
        switch (a[0]) {
            case "open": return open(a[1], a[2]);
            case "lead": logs.get(a[1]).initializeLeaderEpoch(Integer.parseInt(a[2])); return "ok";
            case "validate": return validate(logs.get(a[1]), Integer.parseInt(a[2]), Long.parseLong(a[3]));
            case "truncate": return Long.toString(logs.get(a[1]).truncateToEndOffset(new OffsetAndEpoch(Long.parseLong(a[3]), Integer.parseInt(a[2]))));
            case "position": return logs.get(a[1]).lastFetchedEpoch() + ":" + logs.get(a[1]).endOffset().offset();
            case "close": logs.remove(a[1]).close(); return "ok";
            default: return "ERR unknown command " + a[0];
        }
    }

    public static void main(String[] args) throws Exception {
        BufferedReader in = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
        PrintStream out = new PrintStream(System.out, true, StandardCharsets.UTF_8);
        for (String line = in.readLine(); line != null; line = in.readLine()) {
            try {
                out.println(run(line.split(" ")));
            } catch (Exception error) {
                out.println("ERR " + error.getClass().getName() + " " + String.valueOf(error.getMessage()).replace('\n', ' '));
            }
        }
    }
}
