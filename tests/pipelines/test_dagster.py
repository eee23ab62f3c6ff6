"""The page's assets, made by Dagster itself: what depends on copies that differ is not made."""

import json
from pathlib import Path
from typing import Any, Final

from tests.pipelines.example import PIPELINES, example, run

MATERIALIZE: Final = """

import json, sys

result = dg.materialize(
    list(definitions.assets),
    run_config=dg.RunConfig({"audited_copies": Backup(snapshots=sys.argv[1])}),
    raise_on_error=False,
)
made = [event.asset_key.to_user_string() for event in result.get_asset_materialization_events()]
failures = [event.step_failure_data.error.cause.message for event in result.all_events if event.is_step_failure]
metadata = {
    name: value.value
    for each in result.asset_materializations_for_node("audited_copies")
    for name, value in each.metadata.items()
}
print(json.dumps({"success": result.success, "made": made, "failures": failures, "metadata": metadata}))
"""


def materialize(scratch: Path, snapshots: str) -> dict[str, Any]:
    program = scratch / "assets.py"
    program.write_text(example("Dagster", __file__).code + MATERIALIZE)
    told = run(PIPELINES, str(program), snapshots, scratch=scratch, environment={"DAGSTER_HOME": str(scratch)})
    document: dict[str, Any] = json.loads(told.splitlines()[-1])
    return document


def test_what_depends_on_copies_that_agree_is_made(tmp_path: Path) -> None:
    told = materialize(tmp_path, "reconciled")

    assert told["success"]
    assert told["made"] == ["audited_copies", "published_copies"]
    assert told["metadata"]["partitions"] == 9
    assert len(told["metadata"]["run_id"]) == 32


def test_nothing_is_made_of_copies_that_have_forked(tmp_path: Path) -> None:
    told = materialize(tmp_path, "diverged")

    assert not told["success"]
    assert told["made"] == []
    [failure] = told["failures"]
    assert "AuditNotCleanError: 2 partitions have verdicts that are not allowed" in failure
    assert "diverge-0: forked" in failure
