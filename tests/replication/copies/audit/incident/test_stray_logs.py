"""Logs that brokers would set aside at their start: told as lost, and given their topic's id by what is printed."""

import re
import shlex
import shutil
import subprocess
import tarfile
from pathlib import Path

import pytest

from replication.audit import audit_locally
from replication.copies.audit.incident.incident import Incident, incident_of
from tests.replication.cli.command import epochlog
from tests.replication.copies.audit.incident.test_elected import ELECTED


def of(copies: Path) -> Incident:
    return incident_of(audit_locally(sorted(copies.iterdir()), workers=0).document)


@pytest.fixture
def elected(tmp_path: Path) -> Path:
    """Directories of two dead brokers and their controller: one broker has 70 acknowledged records alone."""
    with tarfile.open(ELECTED / "quiet-4.3.1.tar.xz") as archive:
        archive.extractall(tmp_path, filter="data")
    return tmp_path


@pytest.fixture
def files(elected: Path) -> list[Path]:
    return [elected / f"broker-{node}/quiet-0/partition.metadata" for node in (1, 2)]


def test_what_is_printed_gives_logs_the_id_that_they_lack(elected: Path, files: list[Path]) -> None:
    known = [file.read_bytes() for file in files]
    for file in files:
        file.unlink()
    found = of(elected)
    assert "up to 570 records that are known to be acknowledged." in found.headline
    assert epochlog("incident", *sorted(elected.iterdir())).status == 3
    [step] = [step for step in found.steps if step.what.startswith("Give 2 logs the topic's id")]
    for command in step.commands:
        subprocess.run(command, shell=True, check=True)  # noqa: S602  what is printed is for a shell
    assert [file.read_bytes() for file in files] == known
    assert of(elected).headline.split(". ")[0].endswith("up to 70 records that are known to be acknowledged")


def test_another_topics_id_is_told_by_the_clusters_metadata(elected: Path, files: list[Path]) -> None:
    known = files[0].read_text()
    for file in files:
        file.write_text(re.sub("topic_id: .*", "topic_id: AAAAAAAAQACAAAAAAAAAAA", known))
    found = of(elected)
    assert "up to 570 records that are known to be acknowledged." in found.headline
    assert [line.partition(":")[0] for line in found.damage] == ["broker-1, quiet-0", "broker-2, quiet-0"]
    [step] = [step for step in found.steps if step.what.startswith("Give 2 logs the topic's id")]
    assert [shlex.split(command)[2] for command in step.commands] == [known.split("topic_id: ")[1].strip()] * 2


def test_without_any_high_watermark_the_metadata_tells_what_a_leader_alone_acknowledged(
    elected: Path,
) -> None:
    for node in (1, 2):
        (elected / f"broker-{node}/replication-offset-checkpoint").unlink()
    found = of(elected)
    assert "up to 70 records that are known to be acknowledged." in found.headline


@pytest.mark.parametrize("reset", [True, False])
def test_without_metadata_too_what_was_acknowledged_is_not_known_and_not_0(elected: Path, *, reset: bool) -> None:
    for node in (1, 2):
        file = elected / f"broker-{node}/replication-offset-checkpoint"
        if reset:
            file.write_text("0\n1\nquiet 0 0\n")
        else:
            file.unlink()
        shutil.rmtree(elected / f"broker-{node}/__cluster_metadata-0")
    brokers = [elected / f"broker-{node}" for node in (1, 2)]
    found = incident_of(audit_locally(brokers, workers=0).document)
    [stake] = found.stakes
    assert any(
        "70 records" in each and "whether they were acknowledged is not known" in each for each in stake.sentences
    )
