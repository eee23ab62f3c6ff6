import org.apache.kafka.storage.internals.log.UnifiedLog;

/** How a log is left, in the words of this release: closing alone trims no index any more. */
final class Leaving {
    /** As a broker does that is stopped: indexes trimmed, the last time index entry written. */
    static void inOrder(UnifiedLog log) {
        log.prepareActiveSegmentForClose();
        log.close();
    }

    /** As a crash does: nothing flushed, nothing trimmed. */
    static void asItIs(UnifiedLog log) { log.closeQuietly(); }
}
