import com.fasterxml.jackson.databind.ObjectMapper;
import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.io.PrintStream;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.util.Arrays;
import java.util.HexFormat;
import java.util.List;
import java.util.stream.Collectors;
import org.apache.kafka.common.metadata.MetadataJsonConverters;
import org.apache.kafka.common.metadata.MetadataRecordType;
import org.apache.kafka.common.protocol.ApiMessage;
import org.apache.kafka.common.protocol.ByteBufferAccessor;
import org.apache.kafka.common.protocol.ObjectSerializationCache;
import org.apache.kafka.image.MetadataDelta;
import org.apache.kafka.image.MetadataImage;
import org.apache.kafka.image.MetadataProvenance;
import org.apache.kafka.image.writer.ImageWriterOptions;
import org.apache.kafka.image.writer.RecordListWriter;
import org.apache.kafka.metadata.MetadataRecordSerde;
import org.apache.kafka.server.common.ApiMessageAndVersion;
import org.apache.kafka.server.common.MetadataVersion;

/** One command a line on stdin, one result a line on stdout, over Kafka's own metadata records and images. */
public final class MetadataOracle {
    private static final HexFormat HEX = HexFormat.of();
    private static final ObjectMapper JSON = new ObjectMapper();
    private static final MetadataRecordSerde SERDE = new MetadataRecordSerde();

    private static ApiMessageAndVersion read(String hex) {
        ByteBuffer data = ByteBuffer.wrap(HEX.parseHex(hex));
        return SERDE.read(new ByteBufferAccessor(data), data.remaining());
    }

    private static String write(ApiMessageAndVersion record) {
        ObjectSerializationCache cache = new ObjectSerializationCache();
        ByteBuffer data = ByteBuffer.allocate(SERDE.recordSize(record, cache));
        SERDE.write(record, cache, new ByteBufferAccessor(data));
        return HEX.formatHex(data.array());
    }

    private static String decode(String hex) throws Exception {
        ApiMessageAndVersion record = read(hex);
        String type = MetadataRecordType.fromId(record.message().apiKey()).toString();
        String fields = JSON.writeValueAsString(MetadataJsonConverters.writeJson(record.message(), record.version()));
        return type + " " + record.version() + " " + fields;
    }

    private static String encode(String key, String version, String json) throws Exception {
        short number = Short.parseShort(version);
        ApiMessage message = MetadataJsonConverters.readJson(JSON.readTree(json), Short.parseShort(key), number);
        return write(new ApiMessageAndVersion(message, number));
    }

    private static String image(List<String> records) {
        MetadataImage image = MetadataImage.EMPTY;
        for (int offset = 0; offset < records.size(); offset++) {
            MetadataDelta delta = new MetadataDelta.Builder().setImage(image).build();
            delta.replay(read(records.get(offset)).message());
            image = delta.apply(new MetadataProvenance(offset, 0, 0, true));
        }
        MetadataVersion version = image.features().metadataVersionOrThrow();
        RecordListWriter writer = new RecordListWriter();
        image.write(writer, new ImageWriterOptions.Builder(version).setEligibleLeaderReplicasEnabled(true).build());
        return writer.records().stream().map(MetadataOracle::write).collect(Collectors.joining(","));
    }

    /** All types of records: name, key and latest version. */
    private static String types() {
        return Arrays.stream(MetadataRecordType.values())
            .map(type -> type + ":" + type.id() + ":" + type.highestSupportedVersion())
            .collect(Collectors.joining(","));
    }

    /** All levels up to the latest that is not in the making: name, number, and the versions of the records that vary. */
    private static String levels() {
        return Arrays.stream(MetadataVersion.VERSIONS)
            .filter(MetadataVersion::isProduction)
            .map(level -> level + ":" + level.featureLevel() + ":" + level.registerBrokerRecordVersion() + ":"
                + level.partitionRecordVersion() + ":" + level.partitionChangeRecordVersion())
            .collect(Collectors.joining(","));
    }

    private static String run(String line) throws Exception {
        String[] words = line.split(" ", 4);
        switch (words[0]) {
            case "decode": return decode(words[1]);
            case "encode": return encode(words[1], words[2], words[3]);
            case "recode": return write(read(words[1]));
            case "image": return image(List.of(words[1].split(",")));
            case "types": return types();
            case "levels": return levels();
            default: throw new IllegalArgumentException(line);
        }
    }

    public static void main(String[] args) throws Exception {
        PrintStream out = new PrintStream(System.out, true, StandardCharsets.UTF_8);
        BufferedReader in = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
        for (String line = in.readLine(); line != null; line = in.readLine()) {
            String answer;
            try {
                answer = run(line);
            } catch (Throwable error) {
                String message = String.valueOf(error.getMessage());
                answer = "ERR " + error.getClass().getSimpleName() + " " + message.replace('\n', ' ').replace('\r', ' ');
            }
            out.println(answer);
        }
    }
}
