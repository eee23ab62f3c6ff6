import org.apache.kafka.tools.api.Decoder;

import java.util.HexFormat;

/** Shows keys and values as DumpLogSegments has them, byte by byte: as texts, bytes that are none would be lost. */
public class HexDecoder implements Decoder<String> {
    @Override
    public String fromBytes(byte[] bytes) {
        return HexFormat.of().formatHex(bytes);
    }
}
