import java.io.File;
import java.io.IOException;
import java.nio.file.Path;
import java.util.Arrays;
import org.apache.kafka.storage.internals.log.OffsetIndex;
import org.apache.kafka.storage.internals.log.TimeIndex;

/** Times how Kafka's own indexes look up: see Stopwatch for how it is asked. */
public final class IndexTimer {
    private static OffsetIndex offsetIndex;
    private static TimeIndex timeIndex;
    private static long[] queries;

    /** open DIRECTORY BYTES: the indexes of the segment at offset 0, both full */
    private static long open(String directory, int bytes) throws IOException {
        if (offsetIndex != null) close();
        File index = Path.of(directory, "00000000000000000000.index").toFile();
        offsetIndex = new OffsetIndex(index, 0, bytes, false);
        timeIndex = new TimeIndex(Path.of(directory, "00000000000000000000.timeindex").toFile(), 0, bytes, false);
        return offsetIndex.entries() + timeIndex.entries();
    }

    private static void close() {
        offsetIndex.closeHandler();
        timeIndex.closeHandler();
    }

    /** queries FILE: offsets or timestamps to look up */
    private static long queries(String file) throws IOException {
        queries = Stopwatch.longs(file);
        return Arrays.stream(queries).sum();
    }

    /** offsets TIMES: where in the log to read for each query */
    private static long offsets(int times) {
        long found = 0;
        Stopwatch.start();
        for (int time = 0; time < times; time++) for (long offset : queries) found += offsetIndex.lookup(offset).position();
        Stopwatch.stop();
        return found / times;
    }

    /** timestamps TIMES: the offset to start at for each query */
    private static long timestamps(int times) {
        long found = 0;
        Stopwatch.start();
        for (int time = 0; time < times; time++) for (long timestamp : queries) found += timeIndex.lookup(timestamp).offset();
        Stopwatch.stop();
        return found / times;
    }

    private static long run(String[] words) throws IOException {
        switch (words[0]) {
            case "open": return open(words[1], Integer.parseInt(words[2]));
            case "queries": return queries(words[1]);
            case "offsets": return offsets(Integer.parseInt(words[1]));
            case "timestamps": return timestamps(Integer.parseInt(words[1]));
            default: throw new IllegalArgumentException(words[0]);
        }
    }

    public static void main(String[] arguments) throws IOException {
        Stopwatch.serve(IndexTimer::run);
    }
}
