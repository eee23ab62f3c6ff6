import com.fasterxml.jackson.databind.ObjectMapper;
import java.io.BufferedReader;
import java.io.ByteArrayOutputStream;
import java.io.InputStreamReader;
import java.io.PrintStream;
import java.lang.reflect.InvocationTargetException;
import java.nio.charset.StandardCharsets;
import java.util.Arrays;
import java.util.LinkedHashMap;
import java.util.Map;
import org.apache.kafka.common.errors.ApiException;
import org.apache.kafka.common.protocol.Errors;
import org.apache.kafka.common.utils.*; // Exit: of one of these packages, by the release
import org.apache.kafka.common.utils.internals.*;

/** Kafka's own tools: a JSON array of a class and its arguments a line, answered by what it prints and its status. */
public final class ToolOracle {
    private static final ObjectMapper JSON = new ObjectMapper();

    private static final class Ended extends Error {
        private static final long serialVersionUID = 1L;
    }

    private static Map<String, Object> run(String[] command) throws Exception {
        PrintStream out = System.out;
        PrintStream err = System.err;
        ByteArrayOutputStream printed = new ByteArrayOutputStream();
        ByteArrayOutputStream complained = new ByteArrayOutputStream();
        Map<String, Object> outcome = new LinkedHashMap<>();
        Exit.setExitProcedure((status, message) -> {
            end(outcome, status, printed, complained);
            throw new Ended();
        });
        System.setOut(new PrintStream(printed, true, StandardCharsets.UTF_8));
        System.setErr(new PrintStream(complained, true, StandardCharsets.UTF_8));
        try {
            Class.forName(command[0]).getMethod("main", String[].class)
                .invoke(null, (Object) Arrays.copyOfRange(command, 1, command.length));
            end(outcome, 0, printed, complained);
        } catch (InvocationTargetException thrown) {
            if (!(thrown.getCause() instanceof Ended)) {
                thrown.getCause().printStackTrace();
                end(outcome, 1, printed, complained);
            }
        } finally {
            System.setOut(out);
            System.setErr(err);
            Exit.resetExitProcedure();
        }
        return outcome;
    }

    /** What a tool does after it ended does not count. */
    private static void end(Map<String, Object> outcome, int status, ByteArrayOutputStream out, ByteArrayOutputStream err) {
        if (!outcome.isEmpty()) return;
        outcome.put("status", status);
        outcome.put("out", out.toString(StandardCharsets.UTF_8));
        outcome.put("err", err.toString(StandardCharsets.UTF_8));
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
