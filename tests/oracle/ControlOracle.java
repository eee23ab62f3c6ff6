package org.apache.kafka.controller;

import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Base64;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.OptionalLong;
import java.util.Set;
import java.util.function.Supplier;
import java.util.stream.Collectors;
import org.apache.kafka.common.Uuid;
import org.apache.kafka.common.config.ConfigDef;
import org.apache.kafka.common.config.ConfigResource;
import org.apache.kafka.common.errors.ApiException;
import org.apache.kafka.common.message.AlterPartitionReassignmentsRequestData;
import org.apache.kafka.common.message.AlterPartitionRequestData;
import org.apache.kafka.common.message.BrokerHeartbeatRequestData;
import org.apache.kafka.common.message.BrokerRegistrationRequestData;
import org.apache.kafka.common.message.CreatePartitionsRequestData;
import org.apache.kafka.common.message.CreateTopicsRequestData;
import org.apache.kafka.common.message.ElectLeadersRequestData;
import org.apache.kafka.common.message.RequestHeaderData;
import org.apache.kafka.common.metadata.BrokerRegistrationChangeRecord;
import org.apache.kafka.common.metadata.ClearElrRecord;
import org.apache.kafka.common.metadata.ConfigRecord;
import org.apache.kafka.common.metadata.FeatureLevelRecord;
import org.apache.kafka.common.metadata.PartitionChangeRecord;
import org.apache.kafka.common.metadata.PartitionRecord;
import org.apache.kafka.common.metadata.RegisterBrokerRecord;
import org.apache.kafka.common.metadata.RemoveTopicRecord;
import org.apache.kafka.common.metadata.TopicRecord;
import org.apache.kafka.common.metadata.UnregisterBrokerRecord;
import org.apache.kafka.common.protocol.ApiMessage;
import org.apache.kafka.common.protocol.ByteBufferAccessor;
import org.apache.kafka.common.protocol.Errors;
import org.apache.kafka.common.protocol.ObjectSerializationCache;
import org.apache.kafka.common.security.auth.KafkaPrincipal;
import org.apache.kafka.common.utils.Time;
import org.apache.kafka.metadata.KafkaConfigSchema;
import org.apache.kafka.metadata.MetadataRecordSerde;
import org.apache.kafka.server.common.ApiMessageAndVersion;
import org.apache.kafka.server.common.MetadataVersion;
import org.apache.kafka.server.config.ServerTopicConfigSynonyms;
import org.apache.kafka.storage.internals.log.LogConfig;

/** Drives ClusterControlManager and ReplicationControlManager: a request a line, `ERROR record,record...` an answer. */
public final class ControlOracle {
    private static final MetadataRecordSerde SERDE = new MetadataRecordSerde();

    private static final class Clock implements Time {
        private long now = 0;
        public long milliseconds() { return now; }
        public long nanoseconds() { return now * 1_000_000; }
        public void sleep(long ms) { now += ms; }
        public void waitObject(Object object, Supplier<Boolean> condition, long deadline) { }
    }

    private final Clock clock = new Clock();
    private final FeatureControlManager features;
    private final ConfigurationControlManager configurations;
    private final ClusterControlManager cluster;
    private ReplicationControlManager replication;
    private long next;

    private ControlOracle(int level, boolean elr) {
        features = new FeatureControlManager.Builder()
            .setQuorumFeatures(new QuorumFeatures(0, QuorumFeatures.defaultSupportedFeatureMap(true), List.of(0))).build();
        replay(new FeatureLevelRecord().setName("metadata.version").setFeatureLevel((short) level));
        if (elr) replay(new FeatureLevelRecord().setName("eligible.leader.replicas.version").setFeatureLevel((short) 1));
        ConfigDef topics = LogConfig.configDefCopy();
        configurations = new ConfigurationControlManager.Builder()
            .setKafkaConfigSchema(new KafkaConfigSchema(
                Map.of(ConfigResource.Type.TOPIC, topics, ConfigResource.Type.BROKER,
                    new ConfigDef().define("min.insync.replicas", ConfigDef.Type.INT, 1, ConfigDef.Importance.HIGH, "")),
                ServerTopicConfigSynonyms.ALL_TOPIC_CONFIG_SYNONYMS))
            .setFeatureControl(features).build();
        cluster = new ClusterControlManager.Builder().setTime(clock).setClusterId("simulated")
            .setSessionTimeoutNs(9_000_000_000L).setFeatureControlManager(features)
            .setBrokerShutdownHandler((id, clean, records) -> replication.handleBrokerShutdown(id, clean, records))
            .build();
        replication = new ReplicationControlManager.Builder().setConfigurationControl(configurations)
            .setClusterControl(cluster).setFeatureControl(features).build();
        cluster.activate();
    }

    public static void main(String[] arguments) throws Exception {
        BufferedReader in = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
        ControlOracle oracle = null;
        for (String line = in.readLine(); line != null; line = in.readLine()) {
            String[] words = line.split(" ");
            if (words[0].equals("reset")) {
                oracle = new ControlOracle(Integer.parseInt(words[1]), Boolean.parseBoolean(words[2]));
                System.out.println("NONE ");
            } else {
                System.out.println(oracle.answer(words));
            }
            System.out.flush();
        }
    }

    private String answer(String[] words) {
        try {
            return decide(words);
        } catch (ApiException error) {
            return Errors.forException(error) + " ";
        } catch (RuntimeException error) {
            return "BROKEN_" + error.toString().replaceAll("[^A-Za-z0-9]+", "_") + " ";
        }
    }

    private String decide(String[] w) {
        switch (w[0]) {
            case "sleep": clock.sleep(Long.parseLong(w[1])); return "NONE ";
            case "register": return register(w);
            case "heartbeat": return heartbeat(w);
            case "fence": return fence();
            case "unregister": return told(Errors.NONE, replication.unregisterBroker(id(w[1])));
            case "create": return create(w);
            case "enlarge": return enlarge(w);
            case "delete": return told(Errors.NONE, replication.deleteTopics(context(), List.of(Uuid.fromString(w[1]))));
            case "isr": return isr(w);
            case "elect": return elect(w);
            case "reassign": return reassign(w);
            case "balance": return told(Errors.NONE, replication.maybeBalancePartitionLeaders());
            case "unclean": return told(Errors.NONE, replication.maybeElectUncleanLeaders());
            default: throw new IllegalArgumentException(w[0]);
        }
    }

    /** fence: MORE where one was silent for too long, be it that it is known no longer */
    private String fence() {
        ControllerResult<Boolean> result = replication.maybeFenceOneStaleBroker();
        String told = told(Errors.NONE, result);
        return result.response() ? told.replaceFirst("NONE", "MORE") : told;
    }

    /** register ID INCARNATION DIRECTORY PREVIOUS RACK|- */
    private String register(String[] w) {
        BrokerRegistrationRequestData.FeatureCollection levels = new BrokerRegistrationRequestData.FeatureCollection();
        levels.add(new BrokerRegistrationRequestData.Feature().setName("metadata.version")
            .setMinSupportedVersion((short) 7).setMaxSupportedVersion(MetadataVersion.latestProduction().featureLevel()));
        levels.add(new BrokerRegistrationRequestData.Feature().setName("eligible.leader.replicas.version")
            .setMinSupportedVersion((short) 0).setMaxSupportedVersion((short) 1));
        ControllerResult<?> result = cluster.registerBroker(new BrokerRegistrationRequestData().setBrokerId(id(w[1]))
            .setClusterId("simulated").setIncarnationId(Uuid.fromString(w[2])).setFeatures(levels)
            .setLogDirs(List.of(Uuid.fromString(w[3]))).setPreviousBrokerEpoch(Long.parseLong(w[4]))
            .setRack(w[5].equals("-") ? null : w[5]),
            next, features.finalizedFeatures(Long.MAX_VALUE), true);
        return told(Errors.NONE, result);
    }

    /** heartbeat ID EPOCH OFFSET WANT_FENCE WANT_SHUT_DOWN [CORDONED_DIRECTORY] */
    private String heartbeat(String[] w) {
        int id = id(w[1]);
        cluster.trackBrokerHeartbeat(id, Long.parseLong(w[2]));
        OptionalLong offset = cluster.registerBrokerRecordOffset(id);
        if (offset.isEmpty()) return "STALE_BROKER_EPOCH ";
        BrokerHeartbeatRequestData request = new BrokerHeartbeatRequestData().setBrokerId(id)
            .setBrokerEpoch(Long.parseLong(w[2])).setCurrentMetadataOffset(Long.parseLong(w[3]))
            .setWantFence(Boolean.parseBoolean(w[4])).setWantShutDown(Boolean.parseBoolean(w[5]));
        if (w.length > 6) request.setCordonedLogDirs(List.of(Uuid.fromString(w[6])));
        ControllerResult<org.apache.kafka.metadata.BrokerHeartbeatReply> result =
            replication.processBrokerHeartbeat(request, offset.getAsLong());
        String told = told(Errors.NONE, result);
        if (result.response().inControlledShutdown())
            cluster.heartbeatManager().maybeUpdateControlledShutdownOffset(id, next - 1);
        return told;
    }

    /** create NAME MIN_ISR UNCLEAN|- REPLICAS;REPLICAS... */
    private String create(String[] w) {
        CreateTopicsRequestData.CreatableTopic topic = new CreateTopicsRequestData.CreatableTopic().setName(w[1])
            .setNumPartitions(-1).setReplicationFactor((short) -1);
        topic.configs().add(new CreateTopicsRequestData.CreatableTopicConfig()
            .setName("min.insync.replicas").setValue(w[2]));
        if (!w[3].equals("-")) topic.configs().add(new CreateTopicsRequestData.CreatableTopicConfig()
            .setName("unclean.leader.election.enable").setValue(w[3]));
        int number = 0;
        for (String replicas : w[4].split(";"))
            topic.assignments().add(new CreateTopicsRequestData.CreatableReplicaAssignment()
                .setPartitionIndex(number++).setBrokerIds(ids(replicas)));
        CreateTopicsRequestData request = new CreateTopicsRequestData();
        request.topics().add(topic);
        var result = replication.createTopics(context(), request, Set.of(), false);
        return told(Errors.forCode(result.response().topics().iterator().next().errorCode()), result);
    }

    /** enlarge NAME COUNT REPLICAS;... */
    private String enlarge(String[] w) {
        List<CreatePartitionsRequestData.CreatePartitionsAssignment> assignments = Arrays.stream(w[3].split(";"))
            .map(each -> new CreatePartitionsRequestData.CreatePartitionsAssignment().setBrokerIds(ids(each)))
            .collect(Collectors.toList());
        var result = replication.createPartitions(context(), List.of(new CreatePartitionsRequestData.CreatePartitionsTopic()
            .setName(w[1]).setCount(id(w[2])).setAssignments(assignments)));
        return told(Errors.forCode(result.response().get(0).errorCode()), result);
    }

    /** isr SENDER EPOCH TOPIC PARTITION LEADER_EPOCH PARTITION_EPOCH STATE MEMBER:EPOCH,... */
    private String isr(String[] w) {
        List<AlterPartitionRequestData.BrokerState> members = new ArrayList<>();
        for (String member : w[8].split(",")) {
            String[] parts = member.split(":");
            members.add(new AlterPartitionRequestData.BrokerState().setBrokerId(id(parts[0]))
                .setBrokerEpoch(Long.parseLong(parts[1])));
        }
        AlterPartitionRequestData request = new AlterPartitionRequestData().setBrokerId(id(w[1]))
            .setBrokerEpoch(Long.parseLong(w[2]));
        request.topics().add(new AlterPartitionRequestData.TopicData().setTopicId(Uuid.fromString(w[3])).setPartitions(List.of(
            new AlterPartitionRequestData.PartitionData().setPartitionIndex(id(w[4])).setLeaderEpoch(id(w[5]))
                .setPartitionEpoch(id(w[6])).setLeaderRecoveryState(Byte.parseByte(w[7])).setNewIsrWithEpochs(members))));
        var result = replication.alterPartition(context(), request);
        return told(Errors.forCode(result.response().topics().get(0).partitions().get(0).errorCode()), result);
    }

    /** elect TYPE TOPIC PARTITION */
    private String elect(String[] w) {
        ElectLeadersRequestData.TopicPartitionsCollection topics = new ElectLeadersRequestData.TopicPartitionsCollection();
        topics.add(new ElectLeadersRequestData.TopicPartitions().setTopic(w[2]).setPartitions(List.of(id(w[3]))));
        var result = replication.electLeaders(new ElectLeadersRequestData().setElectionType(Byte.parseByte(w[1]))
            .setTopicPartitions(topics));
        return told(Errors.forCode(result.response().replicaElectionResults().get(0).partitionResult().get(0).errorCode()), result);
    }

    /** reassign TOPIC PARTITION REPLICAS|cancel */
    private String reassign(String[] w) {
        var result = replication.alterPartitionReassignments(new AlterPartitionReassignmentsRequestData().setTopics(List.of(
            new AlterPartitionReassignmentsRequestData.ReassignableTopic().setName(w[1]).setPartitions(List.of(
                new AlterPartitionReassignmentsRequestData.ReassignablePartition().setPartitionIndex(id(w[2]))
                    .setReplicas(w[3].equals("cancel") ? null : ids(w[3])))))));
        return told(Errors.forCode(result.response().responses().get(0).partitions().get(0).errorCode()), result);
    }

    private static ControllerRequestContext context() {
        return new ControllerRequestContext(new RequestHeaderData().setRequestApiVersion((short) 3), KafkaPrincipal.ANONYMOUS,
            OptionalLong.empty());
    }

    private String told(Errors error, ControllerResult<?> result) {
        StringBuilder told = new StringBuilder(error.name()).append(' ');
        for (ApiMessageAndVersion record : result.records()) {
            ObjectSerializationCache cache = new ObjectSerializationCache();
            ByteBuffer bytes = ByteBuffer.allocate(SERDE.recordSize(record, cache));
            SERDE.write(record, cache, new ByteBufferAccessor(bytes));
            told.append(Base64.getEncoder().encodeToString(bytes.array())).append(',');
            replay(record.message());
        }
        return told.toString();
    }

    private void replay(ApiMessage record) {
        if (record instanceof FeatureLevelRecord) features.replay((FeatureLevelRecord) record);
        else if (record instanceof RegisterBrokerRecord) cluster.replay((RegisterBrokerRecord) record, next);
        else if (record instanceof UnregisterBrokerRecord) cluster.replay((UnregisterBrokerRecord) record);
        else if (record instanceof BrokerRegistrationChangeRecord) cluster.replay((BrokerRegistrationChangeRecord) record);
        else if (record instanceof TopicRecord) replication.replay((TopicRecord) record);
        else if (record instanceof PartitionRecord) replication.replay((PartitionRecord) record);
        else if (record instanceof PartitionChangeRecord) replication.replay((PartitionChangeRecord) record);
        else if (record instanceof RemoveTopicRecord) replication.replay((RemoveTopicRecord) record);
        else if (record instanceof ClearElrRecord) replication.replay((ClearElrRecord) record);
        else if (record instanceof ConfigRecord) configurations.replay((ConfigRecord) record);
        else throw new IllegalArgumentException(record.getClass().getName());
        next++;
    }

    private static int id(String word) {
        return Integer.parseInt(word);
    }

    private static List<Integer> ids(String words) {
        return Arrays.stream(words.split(",")).map(Integer::valueOf).collect(Collectors.toList());
    }
}
