"""Random incidents of real clusters: only what the runbook says is done, and nothing acknowledged is lost that another
course would have kept.
"""

import shutil
from collections import Counter
from pathlib import Path
from random import Random
from typing import Final

from tests.campaign import Campaign
from tests.oracle.release import KafkaRelease
from tests.replication.cluster.node.joining.seeds import seeds_of
from tests.replication.copies.audit.runbook.followed_runbook import FollowedRunbook
from tests.replication.records.leadership.histories.election_cluster import ElectionCluster
from tests.replication.records.leadership.histories.election_history import ElectionHistory
from tests.replication.records.leadership.histories.restart import DISTURBED

CAMPAIGN: Final = Campaign("followed runbooks of real clusters", full=100, share=1)
REPEAT_BY: Final = "RUNBOOK_SEED={seed} .venv/bin/python -m pytest tests/replication/copies/audit/runbook"


def test_what_is_printed_is_enough(tmp_path: Path, release: KafkaRelease) -> None:
    """`RUNBOOK_SEED=N` repeats one incident."""
    counted: Counter[str] = Counter()
    seeds = seeds_of(CAMPAIGN, "RUNBOOK_SEED")
    for seed in seeds:
        counted += incident(tmp_path / f"{seed}", release, seed)
    told = ", ".join(f"{count:,} {what}" for what, count in sorted(counted.items()))
    CAMPAIGN.report(len(seeds) - counted[DISTURBED], told, beside=release)


def incident(directory: Path, release: KafkaRelease, seed: int) -> Counter[str]:
    """Let one happen to a cluster of its own, and follow its runbook."""
    with ElectionCluster.at_random(directory / "cluster", release, Random(seed)) as cluster:
        history = ElectionHistory(cluster, seed)
        history.happen()
        cluster.copy(directory / "copies")
        followed = FollowedRunbook(history, directory / "copies")
        followed.follow()
    told = [*history.told, str(followed.plan), *followed.wrong, REPEAT_BY.format(seed=seed)]
    assert not followed.wrong, "\n".join(told)
    shutil.rmtree(directory)
    return followed.counted
