"""Which files get faults, and which tests must notice them: what mirrors a file first, then what uses it.

None of these tests needs Java. Not here: kernels, which are tested beside their plain twins, what compiles and finds
them (`epoch/compiling`, `belonging.py`), and limits on files and memory
(`epoch/base/resource_limits.py`): the tests of those start programs, which a fault in this process does not reach.
"""

from typing import Final

EPOCH: Final = "tests/epoch"
FETCHER: Final = "tests/replication/cluster/fetcher"
LOG: Final = "tests/logstore/log"
RECOVERY: Final = "tests/logstore/recovery"
QUORUM: Final = "tests/replication/cluster/quorum"

HISTORY: Final = (f"{EPOCH}/test_history.py", f"{EPOCH}/test_cache.py")
CACHE: Final = (f"{EPOCH}/test_cache.py", f"{EPOCH}/test_cache_interruptions.py", f"{EPOCH}/test_crash.py")
CHECKPOINT: Final = (f"{EPOCH}/test_checkpoint.py", f"{EPOCH}/test_crash.py")
FOLLOWING: Final = (
    f"{FETCHER}/decisions/test_fetch_state_machine.py",
    f"{FETCHER}/test_fetcher.py",
    f"{FETCHER}/test_followed_partition.py",
    f"{FETCHER}/test_scenarios.py",
    f"{FETCHER}/test_following_machine.py",
    f"{FETCHER}/test_leader_changes.py",
    f"{FETCHER}/requests/test_throttle.py",
)
LIVE_LOG: Final = (
    f"{LOG}/test_truncation.py",
    f"{LOG}/state/test_leader_epochs.py",
    f"{LOG}/test_interrupted_log.py",
    f"{LOG}/test_log_poison.py",
    f"{LOG}/test_log_state_machine.py",
    "tests/logstore/test_durability.py",
)
LOADER: Final = (
    f"{RECOVERY}/test_log_loader.py",
    f"{RECOVERY}/test_left_over_files.py",
    f"{RECOVERY}/test_segment_split.py",
    f"{RECOVERY}/test_recovery_estimate.py",
    f"{RECOVERY}/test_only_copy.py",
    f"{RECOVERY}/test_damaged_start.py",
    f"{RECOVERY}/test_recovered_epochs.py",
    f"{RECOVERY}/test_misplaced_batches.py",
    f"{RECOVERY}/test_epoch_order.py",
    f"{RECOVERY}/test_held_damage.py",
    "tests/logstore/log/test_only_copy.py",
    "tests/logstore/log/test_older_files.py",
    "tests/logstore/log/test_full_disk.py",
    "tests/logstore/test_durability.py",
)

LED: Final = tuple(
    f"tests/replication/cluster/broker/partitions/{name}.py" for name in ("test_led_partition", "test_promises")
)
WRITING: Final = "tests/replication/cluster/broker/requests/writing"
SALVAGE: Final = tuple(
    f"tests/replication/copies/salvage/{name}.py"
    for name in ("test_keys", "columns/test_key_writes", "test_salvage", "test_transactions", "columns/test_limits")
)
SOURCE = "tests/replication/copies/audit/spark/source"
CONDITIONS = (f"{SOURCE}/conditions/test_conditions.py",)
TARGETS: Final[dict[str, tuple[str, ...]]] = {
    "epoch/bulk.py": (f"{EPOCH}/test_bulk.py",),
    "epoch/cache.py": CACHE,
    "epoch/checkpoint.py": CHECKPOINT,
    "epoch/checkpoint_columns.py": CHECKPOINT,
    "epoch/filesystem.py": (f"{EPOCH}/test_filesystem.py", *CHECKPOINT),
    "epoch/base/forked.py": (f"{EPOCH}/base/test_forked.py", f"{EPOCH}/test_cache.py"),
    "epoch/history.py": HISTORY,
    "epoch/truncation.py": (f"{EPOCH}/test_truncation.py",),
    "epoch/compiling/trusted_file.py": (f"{EPOCH}/compiling/test_trusted_file.py",),
    "logstore/base_offsets.py": LOADER,
    "logstore/log/state/leader_epochs.py": LIVE_LOG,
    "logstore/log/truncation.py": LIVE_LOG,
    "logstore/recovery/left_over_files.py": LOADER,
    "logstore/recovery/log_loader.py": LOADER,
    "logstore/recovery/recovery_estimate.py": (f"{RECOVERY}/test_recovery_estimate.py",),
    "logstore/recovery/recovery_report.py": (f"{RECOVERY}/test_recovery_report.py", *LOADER),
    "logstore/recovery/segment_recovery.py": (f"{RECOVERY}/test_segment_recovery.py", *LOADER),
    "logstore/recovery/segment_walk.py": (f"{RECOVERY}/test_segment_recovery.py", *LOADER),
    "logstore/recovery/segment_split.py": LOADER,
    "replication/copies/audit/log_rows/conditions/column_condition.py": CONDITIONS,
    "replication/copies/audit/log_rows/conditions/condition.py": (*CONDITIONS, f"{SOURCE}/test_rows.py"),
    "replication/copies/audit/log_rows/conditions/key_condition.py": CONDITIONS,
    "replication/copies/audit/spark/source/pushed_filters.py": CONDITIONS,
    "replication/copies/audit/log_rows/conditions/where.py": (*CONDITIONS, f"{SOURCE}/test_data_source.py"),
    "replication/copies/audit/log_rows/index_bounds.py": (
        f"{SOURCE}/test_rows.py",
        "tests/replication/copies/audit/test_store_ranges.py",
    ),
    "replication/copies/audit/log_rows/transaction_outcomes.py": (f"{SOURCE}/test_transactions.py",),
    "replication/cluster/broker/partitions/follower_progress.py": LED,
    "replication/cluster/broker/partitions/followers.py": (
        *LED,
        "tests/replication/cluster/broker/partitions/test_followers.py",
    ),
    "replication/cluster/broker/partitions/isr_state.py": LED,
    "replication/cluster/broker/partitions/led_partition.py": (*LED, f"{WRITING}/test_deleted_records.py"),
    "replication/cluster/broker/partitions/transaction_guards.py": (
        "tests/replication/cluster/broker/partitions/test_transaction_guards.py",
        f"{WRITING}/test_hanging_transactions.py",
    ),
    "replication/cluster/broker/requests/writing/sent_batch.py": (f"{WRITING}/test_sent_batch.py",),
    "replication/records/leadership/partition_change.py": (
        "tests/replication/records/leadership/test_partition_change.py",
        "tests/replication/cluster/controller/test_cases.py",
        "tests/replication/cluster/controller/test_controller.py",
        "tests/replication/cluster/controller/test_elections.py",
        "tests/replication/cluster/controller/test_simulation.py",
    ),
    "replication/cluster/fetcher/requests/due_partitions.py": (
        f"{FETCHER}/requests/test_due_partitions.py",
        *FOLLOWING,
    ),
    "replication/cluster/fetcher/decisions/fetch_rules.py": (*FOLLOWING, f"{FETCHER}/test_against_plan.py"),
    "replication/cluster/fetcher/requests/fetch_session.py": (f"{FETCHER}/requests/test_fetch_session.py", *FOLLOWING),
    "replication/cluster/fetcher/decisions/fetch_state.py": FOLLOWING,
    "replication/cluster/fetcher/fetched_batches.py": (f"{FETCHER}/test_fetched_batches.py",),
    "replication/cluster/fetcher/fetcher.py": FOLLOWING,
    "replication/cluster/fetcher/decisions/fetch_state_machine.py": FOLLOWING,
    "replication/cluster/fetcher/leader_changes.py": FOLLOWING,
    "replication/cluster/fetcher/leader_doubts.py": (f"{FETCHER}/test_leader_doubts.py",),
    "replication/cluster/fetcher/decisions/followed_log_state.py": FOLLOWING,
    "replication/cluster/fetcher/requests/open_fetch.py": (f"{FETCHER}/requests/test_open_fetch.py", *FOLLOWING),
    "replication/cluster/fetcher/requests/open_questions.py": (
        f"{FETCHER}/requests/test_open_questions.py",
        *FOLLOWING,
    ),
    "replication/cluster/fetcher/followed_partition.py": FOLLOWING,
    "replication/cluster/fetcher/requests/throttle.py": FOLLOWING,
    "replication/cluster/node/coordinators/question_queue.py": (
        "tests/replication/cluster/node/coordinators/test_question_queue.py",
    ),
    "replication/cluster/quorum/quorum_decisions.py": (
        f"{QUORUM}/test_quorum_decisions.py",
        f"{QUORUM}/test_followed_metadata.py",
    ),
    "replication/copies/quorum_recovery/decision.py": ("tests/replication/copies/quorum_recovery/test_decision.py",),
    "replication/copies/salvage/columns/key_judge.py": SALVAGE,
    "replication/copies/salvage/held/held_records.py": (
        "tests/replication/copies/salvage/held/test_held_records.py",
        *SALVAGE,
    ),
}
