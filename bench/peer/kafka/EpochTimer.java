import java.io.File;
import java.io.IOException;
import java.nio.file.Path;
import java.util.Collection;
import java.util.List;
import java.util.Map;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.storage.internals.checkpoint.LeaderEpochCheckpointFile;
import org.apache.kafka.storage.internals.epoch.LeaderEpochFileCache;
import org.apache.kafka.storage.internals.log.EpochEntry;
import org.apache.kafka.storage.internals.log.LogDirFailureChannel;

/** Times Kafka's own LeaderEpochFileCache: see Stopwatch for how it is asked. */
public final class EpochTimer {
    private static final TopicPartition PARTITION = new TopicPartition("t", 0);
    private static final long LOG_END = 1L << 40;
    private static final int TO_COMPILE = 20_000;
    private static LeaderEpochFileCache cache;
    private static int[] epochs;
    private static long[] offsets;

    /** A checkpoint that is never written, to see what memory alone costs. */
    private static final class NoFile extends LeaderEpochCheckpointFile {
        NoFile(File file) throws IOException { super(file, new LogDirFailureChannel(1)); }

        @Override public void write(Collection<EpochEntry> entries) { }

        @Override public void writeIfDirExists(Collection<EpochEntry> entries) { }

        @Override public List<EpochEntry> read() { return List.of(); }
    }

    private static LeaderEpochFileCache load(File file) throws IOException {
        return new LeaderEpochFileCache(PARTITION, new LeaderEpochCheckpointFile(file, new LogDirFailureChannel(1)), new ManualScheduler());
    }

    /** load DIRECTORY TIMES: the cache of a partition directory, as when a broker starts */
    private static long load(String directory, int times) throws IOException {
        File file = LeaderEpochCheckpointFile.newFile(Path.of(directory).toFile());
        Stopwatch.start();
        for (int time = 0; time < times; time++) cache = load(file);
        Stopwatch.stop();
        return cache.epochEntries().size();
    }

    private static LeaderEpochFileCache inMemory(File file) throws IOException {
        return new LeaderEpochFileCache(PARTITION, new NoFile(file), new ManualScheduler());
    }

    /** remember DIRECTORY: as load, without a file from then on, and with assigning compiled */
    private static long remember(String directory) throws IOException {
        File file = LeaderEpochCheckpointFile.newFile(Path.of(directory).toFile());
        List<EpochEntry> entries = load(file).epochEntries();
        LeaderEpochFileCache other = inMemory(file);
        for (int epoch = 0; epoch < TO_COMPILE; epoch++) other.assign(epoch, epoch);
        cache = inMemory(file);
        cache.assign(entries);
        return entries.size();
    }

    /** queries FILE: as many epochs as offsets to ask for */
    private static long queries(String file) throws IOException {
        long[] numbers = Stopwatch.longs(file);
        epochs = new int[numbers.length / 2];
        offsets = new long[epochs.length];
        for (int i = 0; i < epochs.length; i++) epochs[i] = (int) numbers[i];
        System.arraycopy(numbers, epochs.length, offsets, 0, offsets.length);
        return 0;
    }

    /** ends TIMES: where the epoch of each query ends */
    private static long ends(int times) {
        long found = 0;
        Stopwatch.start();
        for (int time = 0; time < times; time++) {
            for (int epoch : epochs) {
                Map.Entry<Integer, Long> end = cache.endOffsetFor(epoch, LOG_END);
                found += end.getKey() + end.getValue();
            }
        }
        Stopwatch.stop();
        return found / times;
    }

    /** writers TIMES: the epoch that wrote the offset of each query */
    private static long writers(int times) {
        long found = 0;
        Stopwatch.start();
        for (int time = 0; time < times; time++) for (long offset : offsets) found += cache.epochForOffset(offset).getAsInt();
        Stopwatch.stop();
        return found / times;
    }

    /** assign COUNT: so many epochs after the latest one */
    private static long assign(int count) {
        EpochEntry latest = cache.latestEntry().get();
        Stopwatch.start();
        for (int i = 1; i <= count; i++) cache.assign(latest.epoch() + i, latest.startOffset() + i);
        Stopwatch.stop();
        latest = cache.latestEntry().get();
        return cache.epochEntries().size() + latest.epoch() + latest.startOffset();
    }

    private static long run(String[] words) throws IOException {
        switch (words[0]) {
            case "load": return load(words[1], Integer.parseInt(words[2]));
            case "remember": return remember(words[1]);
            case "queries": return queries(words[1]);
            case "ends": return ends(Integer.parseInt(words[1]));
            case "writers": return writers(Integer.parseInt(words[1]));
            case "assign": return assign(Integer.parseInt(words[1]));
            default: throw new IllegalArgumentException(words[0]);
        }
    }

    public static void main(String[] arguments) throws IOException {
        Stopwatch.serve(EpochTimer::run);
    }
}
