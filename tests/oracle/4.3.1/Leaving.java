import org.apache.kafka.storage.internals.log.UnifiedLog;

/** How a log is left, in the words of this release. */
final class Leaving {
    /** As a broker does that is stopped: indexes trimmed, the last time index entry written. */
    static void inOrder(UnifiedLog log) { log.close(); }

    /** As a crash does: nothing flushed, nothing trimmed. */
    static void asItIs(UnifiedLog log) { log.closeHandlers(); }
}
