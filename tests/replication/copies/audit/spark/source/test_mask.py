"""What is in records can be masked in the rows of `kafka-log`, and in those of a salvage and an audit."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

import pyarrow as pa
import pytest
from pyspark.sql import SparkSession

from logstore import MaskSaltError, RecordMask
from replication.audit import NotAllowedError, UnreadableLocationError, audit, audit_locally, salvage
from replication.copies.audit.log_rows.chosen_logs import ChosenLogs
from replication.copies.audit.log_rows.options.source_options import SourceOptions
from tests.replication.cli.planted import GROUP, PLANTED, TRANSACTIONAL_ID, bytes_of, planted_copies, shown_in

PUSHDOWN: Final = "spark.sql.python.filterPushdown.enabled"
MASK: Final = {"rows": "records", "mask": "keys,values", "mode": "PERMISSIVE", "failOnDataLoss": "false"}


def rows(root: Path, **options: str) -> list[dict[str, Any]]:
    chosen = SourceOptions.of({"path": str(root), **MASK, **options})
    logs = ChosenLogs(chosen, chosen.columns)
    batches = [batch for task in logs.tasks() for batch in logs.rows(task)]
    return pa.Table.from_batches(batches, pa.schema(chosen.columns)).to_pylist()


def shown(found: object) -> set[bytes]:
    return shown_in(bytes_of(found))


@pytest.mark.parametrize("form", ["hash", "LENGTH"])
def test_records_show_no_contents(form: str, tmp_path: Path) -> None:
    for root in planted_copies(tmp_path):
        masked = rows(root, maskAs=form)
        assert not shown(masked)
        assert any(row["corrupt"] for row in masked), "of what cannot be read nothing is said but that"
        assert any(row["headers"] for row in masked)


def test_other_columns_are_the_same(tmp_path: Path) -> None:
    [root, _] = planted_copies(tmp_path)
    chosen = "topic,partition,offset,timestamp,leader_epoch,sequence,corrupt"
    masked, plain = (rows(root, columns=chosen, mask=mask) for mask in ("keys,values", "keys"))
    assert masked == plain


def test_equal_keys_have_equal_masks_in_all_partitions(tmp_path: Path) -> None:
    [root, _] = planted_copies(tmp_path)
    keys = {(row["topic"], row["key"]) for row in rows(root, mask="keys", partitions="t-0,torn-0") if row["key"]}
    of_t, of_torn = ({key for topic, key in keys if topic == name} for name in ("t", "torn"))
    assert of_torn < of_t


def test_rows_are_chosen_by_what_is_in_the_log(tmp_path: Path) -> None:
    [root, _] = planted_copies(tmp_path)
    found = rows(root, topics="t", where=f"key LIKE 'key-é{PLANTED.decode()}%'")
    assert [row["value"][:7] for row in found] == [b"masked:"]


@pytest.mark.parametrize(
    ("options", "allowed"),
    [
        ({"mask": "headers"}, "keys, values or keys,values"),
        ({"mask": "keys", "maskAs": "md5"}, "hash or length"),
        ({"rows": "batches"}, "nothing with rows batches"),
        ({"maskAs": "length", "maskSalt": "salt"}, "nothing with maskAs length"),
        ({"maskSalt": "\0"}, "a file where the driver runs"),
    ],
)
def test_options_that_do_not_fit_are_refused(options: dict[str, str], allowed: str) -> None:
    with pytest.raises(NotAllowedError, match=allowed):
        SourceOptions.of({"path": "/", **MASK, **options})


def test_a_form_without_a_mask_is_refused() -> None:
    for option in ("maskAs", "maskSalt"):
        with pytest.raises(NotAllowedError, match="without the option mask"):
            SourceOptions.of({"path": "/", "rows": "records", option: "length"})


def test_a_salt_is_read_from_a_file_that_is_there_and_long_enough(tmp_path: Path) -> None:
    (tmp_path / "salt").write_text("0123456789abcdef")
    chosen = SourceOptions.of({"path": "/", **MASK, "maskSalt": str(tmp_path / "salt")})
    assert chosen.mask == RecordMask(salt=b"0123456789abcdef")
    assert "0123456789abcdef" not in repr(chosen)
    (tmp_path / "short").write_text("0123456789")
    with pytest.raises(MaskSaltError):
        SourceOptions.of({"path": "/", **MASK, "maskSalt": str(tmp_path / "short")})
    with pytest.raises(UnreadableLocationError, match="nowhere"):
        SourceOptions.of({"path": "/", **MASK, "maskSalt": str(tmp_path / "nowhere")})


@pytest.fixture
def pushing(spark: SparkSession) -> Iterator[SparkSession]:
    before = spark.conf.get(PUSHDOWN)
    spark.conf.set(PUSHDOWN, "true")
    yield spark
    spark.conf.set(PUSHDOWN, before)


def test_spark_shows_neither_contents_nor_salt(pushing: SparkSession, tmp_path: Path) -> None:
    [root, _] = planted_copies(tmp_path)
    (tmp_path / "salt").write_text("0123456789abcdef")
    expected = RecordMask(salt=b"0123456789abcdef").key(b"\xff" + PLANTED)
    logs = pushing.read.format("kafka-log").options(**MASK, maskSalt=str(tmp_path / "salt"), pushdown="true")
    loaded = logs.load(str(root))
    assert not shown(loaded.toArrow().to_pylist())
    plan = str(loaded._jdf.queryExecution().toString())
    assert "0123456789abcdef" not in plan
    # A filter means the rows that there are, and is not taken over as one about the keys in the log.
    assert expected is not None
    assert loaded.where(loaded.key == expected).count() == sum(row["key"] == expected for row in loaded.collect()) > 0
    assert loaded.where(loaded.key == b"\xff" + PLANTED).count() == 0


def test_a_salvage_shows_no_contents(spark: SparkSession, tmp_path: Path) -> None:
    roots = planted_copies(tmp_path)
    plain, masked = (salvage(spark, roots, "broker-0", mask=mask) for mask in (None, RecordMask()))
    for name in ("records", "reports"):
        found, hidden = (getattr(each, name).toArrow().to_pylist() for each in (plain, masked))
        assert shown(found)
        assert not shown(hidden)
        assert len(hidden) == len(found)


def test_an_audit_shows_no_contents(spark: SparkSession, tmp_path: Path) -> None:
    roots = planted_copies(tmp_path)
    for mask in (None, RecordMask()):
        with audit(spark, roots, mask=mask) as audited, audit_locally(roots, mask=mask, workers=0) as here:
            documents = [each.document for each in (audited, here)]
            differences = [audited.differences.toArrow().to_pylist(), here.differences.to_pylist()]
        assert all(each["consumer_offsets"] and each["hanging_transactions"] for each in documents)
        for found in (*documents, *differences):
            assert found
            assert bool(shown(found)) is (mask is None)
        told = str(documents)
        assert (GROUP in told, TRANSACTIONAL_ID in told) == (mask is None, mask is None)
