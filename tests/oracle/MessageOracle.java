import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.io.PrintStream;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.util.HexFormat;
import org.apache.kafka.common.protocol.ByteBufferAccessor;
import org.apache.kafka.common.protocol.Message;
import org.apache.kafka.common.protocol.ObjectSerializationCache;

/** One command a line on stdin, one result a line on stdout, over the requests and answers of Kafka's protocol. */
public final class MessageOracle {
    private static final HexFormat HEX = HexFormat.of();
    private static final ObjectMapper JSON = new ObjectMapper();

    private static Class<?> of(String name, String suffix) throws ClassNotFoundException {
        return Class.forName("org.apache.kafka.common.message." + name + "Data" + suffix);
    }

    private static String encode(String name, short version, String json) throws Exception {
        Message message = (Message) of(name, "JsonConverter")
            .getMethod("read", JsonNode.class, short.class).invoke(null, JSON.readTree(json), version);
        ObjectSerializationCache cache = new ObjectSerializationCache();
        ByteBuffer data = ByteBuffer.allocate(message.size(cache, version));
        message.write(new ByteBufferAccessor(data), cache, version);
        return HEX.formatHex(data.array());
    }

    private static String decode(String name, short version, String hex) throws Exception {
        ByteBuffer data = ByteBuffer.wrap(HEX.parseHex(hex));
        Class<?> kind = of(name, "");
        Message message = (Message) kind.getConstructor().newInstance();
        message.read(new ByteBufferAccessor(data), version);
        if (data.hasRemaining()) return "left over: " + data.remaining();
        return JSON.writeValueAsString(
            of(name, "JsonConverter").getMethod("write", kind, short.class).invoke(null, message, version));
    }

    private static String run(String line) throws Exception {
        String[] words = line.split(" ", 4);
        short version = Short.parseShort(words[2]);
        return switch (words[0]) {
            case "encode" -> encode(words[1], version, words[3]);
            case "decode" -> decode(words[1], version, words.length > 3 ? words[3] : "");
            default -> throw new IllegalArgumentException(line);
        };
    }

    public static void main(String[] args) throws Exception {
        BufferedReader in = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
        PrintStream out = new PrintStream(System.out, true, StandardCharsets.UTF_8);
        for (String line = in.readLine(); line != null; line = in.readLine()) out.println(run(line));
    }
}
