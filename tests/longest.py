"""Which files with tests take longest: parallel workers begin with them, so that all end at about the same time.

Only what takes a good part of a minute is worth an entry: a file that is missing here costs at most its own time at the
end of a run. `make test` prints the slowest tests.
"""

from typing import Final

LONGEST: Final = (
    "tests/replication/cli/test_transactions_in_a_real_cluster.py",
    "tests/replication/mirror/test_real_cluster.py",
    "tests/replication/operations/test_real_cluster.py",
    "tests/docs/test_examples.py",
    "tests/epoch/kept_code/test_kernel_cache.py",
    "tests/epoch/kept_code/test_standalone_kernel.py",
    "tests/replication/testing/test_process_history.py",
    "tests/replication/node/joining/soak/test_soak.py",
    "tests/replication/node/joining/earlier/test_earlier_releases.py",
    "tests/replication/node/joining/chaos/test_chaos.py",
    "tests/replication/node/joining/forks/test_divergent_tails.py",
    "tests/replication/node/joining/test_failovers.py",
    "tests/replication/testing/test_cluster_of_processes.py",
    "tests/replication/testing/test_cluster_history.py",
    "tests/replication/mirror/test_schedules.py",
    "tests/replication/explain/test_real_cluster.py",
    "tests/replication/operations/test_elections_on_a_real_cluster.py",
    "tests/replication/broker/lifecycle/test_real_controller.py",
    "tests/replication/broker/requests/test_answers_beside_kafka.py",
    "tests/replication/broker/requests/writing/test_writing_beside_kafka.py",
    "tests/replication/broker/lifecycle/test_real_quorum.py",
    "tests/replication/serving/test_groups.py",
    "tests/replication/serving/test_forks.py",
    "tests/replication/quorum_recovery/test_real_quorums.py",
    "tests/replication/audit/local/test_live_kafka.py",
    "tests/replication/audit/local/test_live_auditing.py",
    "tests/replication/cli/test_audit.py",
    "tests/replication/cli/test_schema.py",
    "tests/replication/cli/test_warm.py",
    "tests/container/test_containerfile.py",
    "tests/replication/audit/spark/sessions/test_class_archive.py",
    "tests/replication/audit/spark/test_clusters.py",
    "tests/replication/audit/spark/test_standalone.py",
    "tests/replication/audit/spark/source/test_data_source.py",
    "tests/replication/audit/spark/test_audit_result.py",
    "tests/replication/audit/spark/source/test_rows.py",
    "tests/replication/audit/spark/test_auditing.py",
    "tests/replication/audit/spark/test_submit.py",
    "tests/replication/audit/spark/test_uses.py",
    "tests/replication/audit/spark/test_s3.py",
    "tests/replication/cli/test_demo.py",
    "tests/replication/operations/test_elections_on_a_guarded_broker.py",
    "tests/replication/operations/test_elections_against_kafka.py",
    "tests/replication/metadata/test_against_kafka.py",
    "tests/replication/protocol/messages/test_against_kafka.py",
    "tests/replication/controller/test_controller_against_kafka.py",
    "tests/logstore/log/test_log_crash_states.py",
    "tests/logstore/log/test_log_interruptions.py",
    "tests/logstore/log/test_interrupted_log.py",
    "tests/logstore/log/test_log_against_kafka.py",
    "tests/logstore/recovery/test_log_loader_against_kafka.py",
)


def place(test: str) -> int:
    """Where the file of a test, by the test's id, stands in a run: what is not listed comes after all that is."""
    file = test.partition("::")[0]
    return LONGEST.index(file) if file in LONGEST else len(LONGEST)
