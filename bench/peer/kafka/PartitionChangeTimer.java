import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.lang.management.ManagementFactory;
import java.lang.management.ThreadMXBean;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.util.List;
import org.apache.kafka.common.DirectoryId;
import org.apache.kafka.common.Uuid;
import org.apache.kafka.common.protocol.ByteBufferAccessor;
import org.apache.kafka.common.protocol.ObjectSerializationCache;
import org.apache.kafka.controller.PartitionChangeBuilder;
import org.apache.kafka.metadata.LeaderRecoveryState;
import org.apache.kafka.metadata.MetadataRecordSerde;
import org.apache.kafka.metadata.PartitionRegistration;
import org.apache.kafka.server.common.ApiMessageAndVersion;
import org.apache.kafka.server.common.MetadataVersion;

/** Times Kafka's own PartitionChangeBuilder: a count a line on stdin, the nanoseconds of this thread on stdout. */
public final class PartitionChangeTimer {
    private static final MetadataRecordSerde SERDE = new MetadataRecordSerde();
    private static final Uuid TOPIC = new Uuid(0, 1000);
    static volatile long sink;

    public static void main(String[] arguments) throws Exception {
        BufferedReader in = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
        ThreadMXBean clock = ManagementFactory.getThreadMXBean();
        for (String line = in.readLine(); line != null; line = in.readLine()) {
            long start = clock.getCurrentThreadCpuTime();
            for (int count = Integer.parseInt(line); count > 0; count--) sink += change().remaining();
            System.out.println(clock.getCurrentThreadCpuTime() - start);
            System.out.flush();
        }
    }

    /** The leader of a partition with three replicas in sync is fenced: the bytes of the record that says so. */
    private static ByteBuffer change() {
        PartitionRegistration partition = new PartitionRegistration.Builder()
            .setReplicas(new int[] {1, 2, 3})
            .setDirectories(DirectoryId.unassignedArray(3))
            .setIsr(new int[] {1, 2, 3})
            .setLeader(1)
            .setLeaderRecoveryState(LeaderRecoveryState.RECOVERED)
            .setLeaderEpoch(0)
            .setPartitionEpoch(0)
            .build();
        ApiMessageAndVersion record = new PartitionChangeBuilder(
            partition, TOPIC, 0, broker -> broker != 1, MetadataVersion.latestProduction(), 1, false)
            .setTargetIsr(List.of(2, 3))
            .setDefaultDirProvider(broker -> DirectoryId.UNASSIGNED)
            .build().orElseThrow();
        ObjectSerializationCache cache = new ObjectSerializationCache();
        ByteBuffer bytes = ByteBuffer.allocate(SERDE.recordSize(record, cache));
        SERDE.write(record, cache, new ByteBufferAccessor(bytes));
        bytes.flip();
        return bytes;
    }
}
