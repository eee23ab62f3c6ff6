import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.lang.management.ManagementFactory;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.function.LongSupplier;

/** What the timers share: one command a line on stdin; on stdout the nanoseconds that it took, and what it found. */
final class Stopwatch {
    /** Does what the words say between start and stop, and returns what both sides must agree on. */
    interface Command { long run(String[] words) throws Exception; }

    private static LongSupplier clock = System::nanoTime;
    private static long started;
    private static long spent;

    private Stopwatch() { }

    static void start() { started = clock.getAsLong(); }

    static void stop() { spent += clock.getAsLong() - started; }

    /** A file of longs, as the other side wrote it. */
    static long[] longs(String file) throws IOException {
        ByteBuffer all = ByteBuffer.wrap(Files.readAllBytes(Path.of(file)));
        long[] numbers = new long[all.remaining() / 8];
        all.asLongBuffer().get(numbers);
        return numbers;
    }

    /** clock NAME: wall, or processor for the time of this thread alone */
    private static long clock(String name) {
        clock = name.equals("wall") ? System::nanoTime : ManagementFactory.getThreadMXBean()::getCurrentThreadCpuTime;
        return 0;
    }

    static void serve(Command command) throws IOException {
        BufferedReader in = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
        for (String line = in.readLine(); line != null; line = in.readLine()) {
            String[] words = line.split(" ");
            spent = 0;
            try {
                long found = words[0].equals("clock") ? clock(words[1]) : command.run(words);
                System.out.println(spent + " " + found);
            } catch (Exception error) {
                System.out.println(error.toString().replace('\n', ' '));
            }
        }
    }
}
