import com.fasterxml.jackson.databind.ObjectMapper;
import java.io.BufferedReader;
import java.io.ByteArrayOutputStream;
import java.io.InputStreamReader;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import java.util.LinkedHashMap;
import java.util.Map;
import org.apache.kafka.common.errors.ApiException;
import org.apache.kafka.common.protocol.Errors;
import org.apache.kafka.common.utils.*; // Exit: of one of these packages, by the release
import org.apache.kafka.common.utils.internals.*;
import org.apache.kafka.tools.LeaderElectionCommand;

/** Kafka's own kafka-leader-election: a JSON array of arguments a line, answered by what it prints and its status. */
public final class LeaderElectionOracle {
    private static final ObjectMapper JSON = new ObjectMapper();

    private static final class Ended extends Error {
        private static final long serialVersionUID = 1L;
    }

    private static Map<String, Object> run(String[] arguments) {
        PrintStream out = System.out;
        PrintStream err = System.err;
        ByteArrayOutputStream printed = new ByteArrayOutputStream();
        ByteArrayOutputStream complained = new ByteArrayOutputStream();
        Map<String, Object> outcome = new LinkedHashMap<>();
        Exit.setExitProcedure((status, message) -> {
            // What it does after it ended does not count.
            if (outcome.isEmpty()) {
                outcome.put("status", status);
                outcome.put("out", printed.toString(StandardCharsets.UTF_8));
                outcome.put("err", complained.toString(StandardCharsets.UTF_8));
            }
            throw new Ended();
        });
        System.setOut(new PrintStream(printed, true, StandardCharsets.UTF_8));
        System.setErr(new PrintStream(complained, true, StandardCharsets.UTF_8));
        try {
            LeaderElectionCommand.main(arguments);
        } catch (Ended end) {
            return outcome;
        } finally {
            System.setOut(out);
            System.setErr(err);
            Exit.resetExitProcedure();
        }
        throw new IllegalStateException("the tool did not end");
    }

    /** By name of each error its exception, as it is printed without and with a message from the broker. */
    private static Map<String, String[]> errors() {
        Map<String, String[]> told = new LinkedHashMap<>();
        for (Errors error : Errors.values()) {
            ApiException plain = error.exception();
            if (plain != null) told.put(error.name(), new String[] {plain.toString(), error.exception("told").toString()});
        }
        return told;
    }

    public static void main(String[] args) throws Exception {
        BufferedReader in = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
        PrintStream out = new PrintStream(System.out, true, StandardCharsets.UTF_8);
        String line;
        while ((line = in.readLine()) != null) {
            Object answer = line.equals("errors") ? errors() : run(JSON.readValue(line, String[].class));
            out.println(JSON.writeValueAsString(answer));
        }
    }
}
