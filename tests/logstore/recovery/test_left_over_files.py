"""Files that a stop in the middle of deletion or compaction leaves are finished or removed, as Kafka does."""

from logstore.recovery.left_over_files import LeftOvers, orphaned_indexes, plan_left_overs


def name(offset: int, suffix: str) -> str:
    return f"{offset:020d}.{suffix}"


def plan(*names: str, ends: dict[str, int] | None = None) -> tuple[set[str], set[str]]:
    made = plan_left_overs(names, (ends or {}).__getitem__)
    return set(made.remove), set(made.rename)


def test_nothing_is_left_over_in_a_log_in_order() -> None:
    names = [name(0, kind) for kind in ("log", "index", "timeindex", "txnindex", "snapshot")]
    assert not plan_left_overs([*names, "leader-epoch-checkpoint", "partition.metadata"], {}.__getitem__)
    assert plan_left_overs([], {}.__getitem__) == LeftOvers()


def test_what_was_renamed_for_deletion_is_removed() -> None:
    assert plan(name(0, "log.deleted"), name(0, "index.deleted"), name(10, "log")) == (
        {name(0, "log.deleted"), name(0, "index.deleted")},
        set(),
    )


def test_half_written_compaction_is_removed() -> None:
    assert plan(name(0, "log"), name(0, "log.cleaned"), name(0, "timeindex.cleaned")) == (
        {name(0, "log.cleaned"), name(0, "timeindex.cleaned")},
        set(),
    )


def test_completed_compaction_replaces_the_segments_that_it_covers() -> None:
    names = [name(base, kind) for base in (0, 10, 20, 30) for kind in ("log", "index", "snapshot")]
    swaps = [name(10, "log.swap"), name(10, "index.swap")]
    removed, renamed = plan(*names, *swaps, ends={name(10, "log.swap"): 30})
    assert removed == {name(base, kind) for base in (10, 20) for kind in ("log", "index", "snapshot")}
    assert renamed == set(swaps)


def test_a_completed_compaction_that_kept_nothing_replaces_the_files_of_its_name() -> None:
    names = [name(base, kind) for base in (10, 20) for kind in ("log", "index", "txnindex")]
    swaps = [name(10, "log.swap"), name(10, "index.swap")]
    removed, renamed = plan(*names, *swaps, ends={name(10, "log.swap"): 10})
    assert removed == {name(10, kind) for kind in ("log", "index", "txnindex")}
    assert renamed == set(swaps)


def test_several_segments_may_take_the_place_of_what_they_cover_together() -> None:
    names = [name(base, "log") for base in (0, 10, 20, 30, 40)]
    swaps = [name(10, "log.swap"), name(25, "log.swap")]
    removed, renamed = plan(*names, *swaps, ends={name(10, "log.swap"): 15, name(25, "log.swap"): 40})
    assert removed == {name(base, "log") for base in (10, 20, 30)}
    assert renamed == set(swaps)


def test_what_follows_the_first_incomplete_file_goes_with_it() -> None:
    names = [
        name(0, "log"),
        name(5, "log.swap"),
        name(10, "log.cleaned"),
        name(20, "log.swap"),
        name(30, "log.cleaned"),
    ]
    removed, renamed = plan(*names, ends={name(5, "log.swap"): 7})
    assert removed == {name(10, "log.cleaned"), name(20, "log.swap"), name(30, "log.cleaned")}
    assert renamed == {name(5, "log.swap")}


def test_a_split_that_did_not_complete_is_undone() -> None:
    # The first half is complete, the second is not: the original is still there.
    removed, renamed = plan(
        name(0, "log"),
        name(50, "log.swap"),
        name(50, "log.cleaned"),
        name(0, "log.swap"),
        ends={name(0, "log.swap"): 1},
    )
    assert removed == {name(50, "log.swap"), name(50, "log.cleaned"), name(0, "log")}
    assert renamed == {name(0, "log.swap")}


def test_what_tells_that_a_split_did_not_complete_goes_last() -> None:
    names = [name(0, "log"), name(0, "log.cleaned"), name(50, "log.swap"), name(90, "log.swap")]
    removed = plan_left_overs(names, {}.__getitem__).remove
    assert removed.index(name(0, "log.cleaned")) > max(removed.index(name(base, "log.swap")) for base in (50, 90))


def test_parts_of_a_split_are_put_in_place_from_the_front() -> None:
    """What is in place already must lie outside the range in which the others replace segments."""
    names = [name(base, f"{kind}.swap") for base in (90, 0, 50) for kind in ("index", "log")]
    ends = {name(0, "log.swap"): 9, name(50, "log.swap"): 60, name(90, "log.swap"): 99}
    renamed = plan_left_overs(names, ends.__getitem__).rename
    assert list(renamed) == [name(base, f"{kind}.swap") for base in (0, 50, 90) for kind in ("log", "index")]


def test_indexes_without_a_log_are_orphans_and_snapshots_are_not() -> None:
    names = [name(0, "log"), name(0, "index"), name(9, "index"), name(9, "timeindex"), name(9, "snapshot")]
    assert orphaned_indexes(names) == [name(9, "index"), name(9, "timeindex")]


def test_snapshots_of_the_cluster_s_metadata_are_left_alone() -> None:
    deleted = f"{7:020d}-{3:010d}.checkpoint.deleted"
    assert plan(deleted, name(0, "log")) == (set(), set())
