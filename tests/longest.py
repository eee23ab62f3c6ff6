"""Which files with tests take longest, and which of them a run has.

Parallel workers begin with them, so that all end at about the same time. Together they take four fifths of the time of
all tests: with TURNS=7 they take turns by the seed, and a run has a seventh of them.

What takes 15 seconds or more on a machine of two cores is worth an entry; a file that is missing here is in every run.
`make test` prints the slowest tests.
"""

import os
from typing import Final

from tests.campaign import run_seed

LONGEST: Final = (
    "tests/replication/cluster/node/joining/chaos/test_chaos.py",
    "tests/replication/cluster/node/joining/soak/test_soak.py",
    "tests/replication/cluster/standalone/test_hostile_requests.py",
    "tests/replication/testing/test_process_history.py",
    "tests/test_wheel.py",
    "tests/replication/copies/audit/spark/test_standalone.py",
    "tests/replication/cli/commands/test_broker.py",
    "tests/replication/copies/audit/spark/test_clusters.py",
    "tests/docs/test_examples.py",
    "bench/bench_audit.py",
    "tests/replication/cli/commands/test_transactions_in_a_real_cluster.py",
    "tests/replication/copies/audit/local/test_auditing.py",
    "tests/replication/cluster/broker/lifecycle/test_real_quorum.py",
    "tests/epoch/compiling/test_kernel_cache.py",
    "tests/epoch/compiling/test_standalone_kernel.py",
    "tests/replication/copies/audit/spark/sessions/test_class_archive.py",
    "tests/replication/copies/explain/test_real_cluster.py",
    "tests/replication/cluster/mirror/test_real_cluster.py",
    "tests/container/test_containerfile.py",
    "tests/epoch/test_belonging.py",
    "tests/logstore/batch/test_memory.py",
    "tests/logstore/verify/test_what_kafka_reads.py",
    "tests/logstore/log/test_noticed_cuts.py",
    "tests/replication/copies/salvage/cluster/test_real_elections.py",
    "tests/replication/records/leadership/histories/test_foretold_elections.py",
    "tests/replication/copies/audit/runbook/test_followed_runbook.py",
    "tests/replication/copies/audit/coordinators/test_groups_that_have_read.py",
    "tests/replication/cluster/operations/test_real_cluster.py",
    "tests/replication/copies/audit/spark/test_s3.py",
    "tests/replication/copies/audit/test_store_faults.py",
    "tests/replication/copies/audit/spark/test_interruptions.py",
    "tests/replication/cluster/node/joining/forks/test_divergent_tails.py",
    "tests/replication/copies/audit/spark/test_audit_result.py",
    "tests/replication/cli/commands/test_replaced_disk.py",
    "tests/replication/cli/test_lost_files.py",
    "tests/replication/cli/commands/test_joined_coordinators.py",
    "tests/replication/cli/commands/test_joined_tools.py",
    "tests/replication/cluster/broker/lifecycle/test_real_controller.py",
    "tests/replication/cli/commands/test_warm.py",
    "tests/replication/copies/audit/spark/source/test_data_source.py",
    "tests/replication/test_rescue_story.py",
    "tests/replication/copies/audit/spark/source/test_bad_input.py",
    "tests/replication/cluster/operations/test_elections_on_a_real_cluster.py",
    "tests/replication/cluster/standalone/test_broker_process.py",
    "tests/replication/copies/audit/spark/source/test_beside_kafkas_consumer.py",
    "tests/replication/copies/audit/spark/source/test_modes.py",
    "tests/replication/records/metadata/test_real_cluster.py",
    "tests/replication/copies/audit/spark/test_uses.py",
    "tests/logstore/log/test_log_crash_states.py",
    "tests/replication/cluster/node/joining/test_lost_pages.py",
    "tests/logstore/directory/test_broken_off_creation.py",
    "tests/replication/testing/test_cluster_of_processes.py",
    "tests/replication/cluster/node/joining/earlier/test_earlier_releases.py",
    "tests/logstore/log/test_compaction_crash_states.py",
    "bench/bench_scaling.py",
    "tests/replication/cluster/serving/test_groups.py",
    "tests/replication/cli/commands/test_audit.py",
    "tests/replication/cluster/mirror/test_schedules.py",
    "tests/epoch/compiling/test_awaited_kernel.py",
    "tests/replication/cluster_model/test_model.py",
    "tests/replication/copies/audit/report/test_browser.py",
    "tests/replication/cluster/serving/test_many_connections.py",
    "tests/replication/copies/audit/local/test_live_kafka.py",
    "tests/replication/copies/audit/local/test_live_auditing.py",
    "bench/bench_peer.py",
    "tests/replication/cli/commands/test_broker_in_a_real_cluster.py",
    "tests/replication/cli/commands/test_dump_damage.py",
    "tests/replication/cli/commands/test_serve.py",
    "tests/logstore/log/test_nested_calls.py",
    "tests/replication/copies/salvage/cluster/test_faults.py",
    "tests/replication/cluster/broker/groups/test_beside_kafka.py",
    "tests/replication/cluster/node/test_network_link.py",
    "bench/bench_lead_replicated.py",
    "tests/replication/cluster/transactions/test_real_cluster.py",
    "tests/replication/copies/audit/spark/queries/test_random_queries.py",
    "tests/replication/copies/salvage/cluster/test_kills.py",
    "bench/bench_join_start.py",
    "bench/bench_join_serving.py",
    "tests/replication/copies/quorum_recovery/test_real_quorums.py",
    "tests/replication/testing/test_simulated_history.py",
    "tests/replication/testing/test_short_brokers.py",
    "tests/replication/copies/audit/spark/source/test_golden.py",
    "tests/replication/cluster/standalone/quorum/test_real_brokers.py",
    "tests/replication/cluster/serving/test_forks.py",
    "tests/replication/copies/salvage/cluster/test_production.py",
    "tests/mutants/test_mutants.py",
    "tests/replication/copies/audit/spark/test_auditing.py",
    "tests/replication/cluster/standalone/test_moves.py",
    "tests/replication/cluster/node/listeners/test_listeners_in_a_real_cluster.py",
    "tests/replication/cli/test_reassurance.py",
    "tests/replication/copies/audit/spark/source/test_memory.py",
    "tests/replication/cli/commands/test_schema.py",
    "tests/logstore/log/test_compaction_against_kafka.py",
    "tests/logstore/log/test_backup.py",
    "tests/replication/copies/audit/examination/test_examination.py",
    "tests/replication/copies/audit/spark/sessions/test_job_group.py",
    "tests/test_imports.py",
    "tests/replication/cluster/node/joining/test_failovers.py",
    "tests/replication/copies/audit/incident/test_incident.py",
    "tests/replication/cluster/broker/requests/test_answers_beside_kafka.py",
    "tests/replication/cluster/node/metrics/test_beside_kafka.py",
    "tests/replication/cluster/standalone/test_clients.py",
    "tests/replication/cli/commands/test_serve_broker.py",
    "bench/bench_mirror.py",
    "bench/bench_serve.py",
    "tests/replication/cluster/fetcher/test_follower.py",
    "tests/replication/cli/commands/test_salvage_produce.py",
    "tests/logstore/log/test_backup_crash_states.py",
    "tests/replication/copies/audit/spark/test_submit.py",
    "tests/replication/testing/test_cluster.py",
    "tests/logstore/test_wrong_arguments.py",
    "tests/replication/copies/audit/report/test_commands.py",
    "tests/replication/testing/test_cluster_history.py",
    "tests/replication/copies/repair/test_real_broker.py",
    "tests/replication/cluster/node/test_real_quorum.py",
    "tests/replication/cluster/operations/test_elections_against_kafka.py",
    "tests/replication/cluster/node/metrics/test_broker_metrics.py",
    "tests/replication/cluster/serving/test_clients.py",
    "tests/logstore/test_old_brokers.py",
    "tests/replication/cluster/broker/test_replica.py",
    "tests/replication/copies/audit/spark/source/test_rows.py",
    "tests/replication/cli/settings/test_joined_settings.py",
    "tests/logstore/kernels/test_crc.py",
    "tests/replication/cli/commands/test_dump.py",
    "tests/replication/copies/audit/judgement/test_losses.py",
    "tests/replication/cli/commands/test_joined_metadata.py",
    "tests/replication/copies/salvage/test_random_histories.py",
    "bench/bench_join.py",
    "tests/replication/copies/repair/test_random_damage.py",
    "tests/replication/cluster/serving/test_seeking.py",
    "tests/replication/wire/messages/test_against_kafka.py",
    "tests/replication/copies/audit/test_damage.py",
    "tests/replication/cli/commands/test_demo.py",
    "tests/replication/copies/salvage/cluster/test_guarded_cluster.py",
    "tests/replication/cluster/standalone/test_beside_a_real_broker.py",
)
_PLACES: Final = {file: number for number, file in enumerate(LONGEST)}
IN_EVERY_RUN: Final = frozenset(
    {
        "tests/replication/cluster/node/joining/chaos/test_chaos.py",
        "tests/replication/cluster/node/joining/soak/test_soak.py",
        "tests/replication/testing/test_process_history.py",
        "tests/test_wheel.py",
    }
)
"""What is least like any other test, or what all users have."""


def place(test: str) -> int:
    """Where the file of a test, by the test's id, stands in a run: what is not listed comes after all that is."""
    return _PLACES.get(test.partition("::")[0], len(LONGEST))


def turns() -> int:
    """How many runs have each of the longest files once: TURNS, or 1, where each run has all."""
    return max(1, int(os.environ.get("TURNS", "1")))


def is_due(test: str) -> bool:
    """Whether a run of this seed has a test, by its id."""
    file = test.partition("::")[0]
    return file not in _PLACES or file in IN_EVERY_RUN or _PLACES[file] % turns() == run_seed() % turns()


def told() -> str:
    """Say how many of the longest files a run has."""
    return f"{sum(map(is_due, LONGEST))} of the {len(LONGEST)} longest files in turn, TURNS={turns()}; all with TURNS=1"
