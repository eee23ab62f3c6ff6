import java.io.BufferedReader;
import java.io.File;
import java.io.InputStreamReader;
import org.apache.kafka.server.util.FileLock;

/** Holds a `.lock` as a broker does: "lock PATH" answers true or false; "unlock" deletes the file, as its stop does. */
public final class LockHolder {
    public static void main(String[] arguments) throws Exception {
        BufferedReader in = new BufferedReader(new InputStreamReader(System.in));
        FileLock lock = null;
        for (String line = in.readLine(); line != null; line = in.readLine()) {
            if (line.startsWith("lock ")) {
                lock = new FileLock(new File(line.substring(5)));
                boolean locked = lock.tryLock();
                if (!locked) lock.unlockAndClose();
                System.out.println(locked);
            } else {
                lock.destroy();
                System.out.println("unlocked");
            }
        }
    }
}
