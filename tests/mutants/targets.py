"""Which files get faults, and which tests must notice them: what mirrors a file first, then what uses it.

None of these tests needs Java. Not here: kernels, which are tested beside their plain twins, what compiles and finds
them (`epoch/kernel.py`, `fingerprint.py`, `belonging.py`, `epoch/kept_code`), and limits on files and memory
(`epoch/resource_limits.py`): the tests of those start programs, which a fault in this process does not reach.
"""

from typing import Final

EPOCH: Final = "tests/epoch"
FETCHER: Final = "tests/replication/fetcher"
LOG: Final = "tests/logstore/log"
RECOVERY: Final = "tests/logstore/recovery"
QUORUM: Final = "tests/replication/quorum"

HISTORY: Final = (f"{EPOCH}/test_history.py", f"{EPOCH}/test_cache.py")
CACHE: Final = (f"{EPOCH}/test_cache.py", f"{EPOCH}/test_cache_interruptions.py", f"{EPOCH}/test_crash.py")
CHECKPOINT: Final = (f"{EPOCH}/test_checkpoint.py", f"{EPOCH}/test_crash.py")
FOLLOWING: Final = (
    f"{FETCHER}/decisions/test_fetch_state_machine.py",
    f"{FETCHER}/test_fetcher.py",
    f"{FETCHER}/test_setbacks.py",
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
    "tests/logstore/test_durability.py",
)

LED: Final = tuple(f"tests/replication/broker/partitions/{name}.py" for name in ("test_led_partition", "test_promises"))
WRITING: Final = "tests/replication/broker/requests/writing"
SALVAGE: Final = tuple(
    f"tests/replication/salvage/{name}.py"
    for name in ("test_keys", "columns/test_key_writes", "test_salvage", "test_transactions", "columns/test_limits")
)
SOURCE = "tests/replication/audit/spark/source"
CONDITIONS = (f"{SOURCE}/conditions/test_conditions.py",)
TARGETS: Final[dict[str, tuple[str, ...]]] = {
    "epoch/bulk.py": (f"{EPOCH}/test_bulk.py",),
    "epoch/cache.py": CACHE,
    "epoch/checkpoint.py": CHECKPOINT,
    "epoch/checkpoint_columns.py": CHECKPOINT,
    "epoch/filesystem.py": (f"{EPOCH}/test_filesystem.py", *CHECKPOINT),
    "epoch/forked.py": (f"{EPOCH}/test_forked.py", f"{EPOCH}/test_cache.py"),
    "epoch/history.py": HISTORY,
    "epoch/truncation.py": (f"{EPOCH}/test_truncation.py",),
    "epoch/kept_code/trusted_file.py": (f"{EPOCH}/kept_code/test_trusted_file.py",),
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
    "replication/audit/log_rows/conditions/column_condition.py": CONDITIONS,
    "replication/audit/log_rows/conditions/condition.py": CONDITIONS,
    "replication/audit/spark/source/pushed_filters.py": CONDITIONS,
    "replication/audit/log_rows/conditions/where.py": (*CONDITIONS, f"{SOURCE}/test_data_source.py"),
    "replication/audit/log_rows/index_bounds.py": (f"{SOURCE}/test_rows.py",),
    "replication/audit/log_rows/transaction_outcomes.py": (f"{SOURCE}/test_transactions.py",),
    "replication/broker/partitions/follower_progress.py": LED,
    "replication/broker/partitions/followers.py": (*LED, "tests/replication/broker/partitions/test_followers.py"),
    "replication/broker/partitions/isr_state.py": LED,
    "replication/broker/partitions/led_partition.py": (*LED, f"{WRITING}/test_deleted_records.py"),
    "replication/broker/partitions/transaction_guards.py": (
        "tests/replication/broker/partitions/test_transaction_guards.py",
        f"{WRITING}/test_hanging_transactions.py",
    ),
    "replication/broker/requests/writing/sent_batch.py": (f"{WRITING}/test_sent_batch.py",),
    "replication/leadership/partition_change.py": (
        "tests/replication/leadership/test_partition_change.py",
        "tests/replication/controller/test_cases.py",
        "tests/replication/controller/test_controller.py",
        "tests/replication/controller/test_elections.py",
        "tests/replication/controller/test_simulation.py",
    ),
    "replication/fetcher/requests/due_partitions.py": (f"{FETCHER}/requests/test_due_partitions.py", *FOLLOWING),
    "replication/fetcher/decisions/fetch_rules.py": (*FOLLOWING, f"{FETCHER}/test_against_plan.py"),
    "replication/fetcher/requests/fetch_session.py": (f"{FETCHER}/requests/test_fetch_session.py", *FOLLOWING),
    "replication/fetcher/decisions/fetch_state.py": FOLLOWING,
    "replication/fetcher/fetched_batches.py": (f"{FETCHER}/test_fetched_batches.py",),
    "replication/fetcher/fetcher.py": FOLLOWING,
    "replication/fetcher/decisions/fetch_state_machine.py": FOLLOWING,
    "replication/fetcher/leader_changes.py": FOLLOWING,
    "replication/fetcher/leader_doubts.py": (f"{FETCHER}/test_leader_doubts.py",),
    "replication/fetcher/decisions/followed_log_state.py": FOLLOWING,
    "replication/fetcher/requests/open_fetch.py": (f"{FETCHER}/requests/test_open_fetch.py", *FOLLOWING),
    "replication/fetcher/requests/open_questions.py": (f"{FETCHER}/requests/test_open_questions.py", *FOLLOWING),
    "replication/fetcher/setbacks.py": FOLLOWING,
    "replication/fetcher/requests/throttle.py": FOLLOWING,
    "replication/node/coordinators/question_queue.py": ("tests/replication/node/coordinators/test_question_queue.py",),
    "replication/quorum/quorum_decisions.py": (
        f"{QUORUM}/test_quorum_decisions.py",
        f"{QUORUM}/test_followed_metadata.py",
    ),
    "replication/quorum_recovery/decision.py": (f"{QUORUM}_recovery/test_decision.py",),
    "replication/salvage/columns/key_judge.py": SALVAGE,
    "replication/salvage/held/held_records.py": ("tests/replication/salvage/held/test_held_records.py", *SALVAGE),
}
