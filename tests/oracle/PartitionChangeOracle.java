import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Optional;
import java.util.Set;
import org.apache.kafka.common.DirectoryId;
import org.apache.kafka.common.Uuid;
import org.apache.kafka.common.metadata.PartitionChangeRecord;
import org.apache.kafka.controller.PartitionChangeBuilder;
import org.apache.kafka.metadata.LeaderRecoveryState;
import org.apache.kafka.metadata.PartitionRegistration;
import org.apache.kafka.server.common.ApiMessageAndVersion;
import org.apache.kafka.server.common.MetadataVersion;

/** Drives PartitionChangeBuilder: one JSON input a line, as in tests/data/cases/partition_change.json, one record out. */
public final class PartitionChangeOracle {
    private static final ObjectMapper JSON = new ObjectMapper();
    private static final Uuid TOPIC = new Uuid(0, 1000);

    public static void main(String[] arguments) throws Exception {
        BufferedReader in = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
        for (String line = in.readLine(); line != null; line = in.readLine()) {
            System.out.println(answer(JSON.readTree(line)));
            System.out.flush();
        }
    }

    private static String answer(JsonNode input) {
        try {
            Optional<ApiMessageAndVersion> record = builder(input).build();
            return record.map(each -> told((PartitionChangeRecord) each.message())).orElse("null");
        } catch (RuntimeException error) {
            return "\"ERR " + error.getClass().getSimpleName() + "\"";
        }
    }

    private static PartitionChangeBuilder builder(JsonNode input) {
        Set<Integer> active = new HashSet<>(ids(input.get("active_brokers")));
        PartitionChangeBuilder builder = new PartitionChangeBuilder(
            partition(input.get("partition")), TOPIC, 0, active::contains,
            MetadataVersion.fromVersionString(input.get("metadata_version").asText(), true),
            input.get("min_isr").asInt(), input.get("elr_enabled").asBoolean());
        builder.setElection(PartitionChangeBuilder.Election.valueOf(input.get("election").asText()));
        builder.setUseLastKnownLeaderInBalancedRecovery(input.get("use_last_known_leader").asBoolean());
        builder.setDefaultDirProvider(broker -> DirectoryId.UNASSIGNED);
        JsonNode target = input.get("target");
        if (target.has("isr")) builder.setTargetIsr(ids(target.get("isr")));
        if (target.has("replicas")) builder.setTargetReplicas(ids(target.get("replicas")));
        if (target.has("removing_replicas")) builder.setTargetRemoving(ids(target.get("removing_replicas")));
        if (target.has("adding_replicas")) builder.setTargetAdding(ids(target.get("adding_replicas")));
        if (target.has("leader_recovery_state"))
            builder.setTargetLeaderRecoveryState(
                LeaderRecoveryState.valueOf(target.get("leader_recovery_state").asText()));
        if (target.has("unclean_shutdown_replicas"))
            builder.setUncleanShutdownReplicas(ids(target.get("unclean_shutdown_replicas")));
        return builder;
    }

    private static PartitionRegistration partition(JsonNode given) {
        int[] replicas = array(given.get("replicas"));
        return new PartitionRegistration.Builder()
            .setReplicas(replicas)
            .setDirectories(DirectoryId.unassignedArray(replicas.length))
            .setIsr(array(given.get("isr")))
            .setRemovingReplicas(array(given.get("removing_replicas")))
            .setAddingReplicas(array(given.get("adding_replicas")))
            .setElr(array(given.get("elr")))
            .setLastKnownElr(array(given.get("last_known_elr")))
            .setLeader(given.get("leader").asInt())
            .setLeaderRecoveryState(LeaderRecoveryState.valueOf(given.get("leader_recovery_state").asText()))
            .setLeaderEpoch(given.get("leader_epoch").asInt())
            .setPartitionEpoch(given.get("partition_epoch").asInt())
            .build();
    }

    private static String told(PartitionChangeRecord record) {
        ObjectNode told = JSON.createObjectNode();
        put(told, "isr", record.isr());
        put(told, "replicas", record.replicas());
        put(told, "removing_replicas", record.removingReplicas());
        put(told, "adding_replicas", record.addingReplicas());
        put(told, "eligible_leader_replicas", record.eligibleLeaderReplicas());
        put(told, "last_known_elr", record.lastKnownElr());
        if (record.leader() != -2) told.put("leader", record.leader());
        if (record.leaderRecoveryState() != -1) told.put("leader_recovery_state", record.leaderRecoveryState());
        return told.toString();
    }

    private static void put(ObjectNode told, String name, List<Integer> ids) {
        if (ids == null) return;
        ArrayNode array = told.putArray(name);
        ids.forEach(array::add);
    }

    private static List<Integer> ids(JsonNode array) {
        List<Integer> ids = new ArrayList<>();
        array.forEach(id -> ids.add(id.asInt()));
        return ids;
    }

    private static int[] array(JsonNode array) {
        return ids(array).stream().mapToInt(Integer::intValue).toArray();
    }
}
