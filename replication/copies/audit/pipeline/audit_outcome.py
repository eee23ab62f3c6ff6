"""What every audit gives, whoever has carried it out: its document, what is new in it, and whether it is clean."""

from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Collection, Iterator
from functools import cached_property
from html import escape
from types import TracebackType
from typing import Any, Self

from replication.base.errors import AuditNotCleanError, NoHistoryError, NotAllowedError
from replication.copies.audit.examination.copy_examiner import Row
from replication.copies.audit.judgement.run import Changes, Run
from replication.copies.audit.judgement.verdict import Verdict
from replication.copies.audit.pipeline.audit_plan import AuditPlan
from replication.copies.audit.snapshots.snapshot import Snapshot


class AuditOutcome(ABC):
    """The results of an audit, which are released at the end of `with`."""

    plan: AuditPlan

    @property
    def run_id(self) -> str:
        """Names this audit: 32 hexadecimal digits."""
        return self.plan.run_id

    @property
    def snapshots(self) -> tuple[Snapshot, ...]:
        """What is compared."""
        return self.plan.snapshots

    @property
    def begun(self) -> float:
        """When the planning of this audit began, in seconds since 1970 UTC."""
        return self.plan.begun

    @property
    def bytes(self) -> int:
        """Bytes of log in all copies that are examined."""
        return self.plan.bytes

    @cached_property
    def document(self) -> dict[str, Any]:
        """The audit as one object: what `epochlog audit --json` prints. Does the audit, unless it was done."""
        document = self._describe()
        changes = self.plan.changes(self._as_run(document))
        return {**document, "history": changes.as_json() if changes else None}

    @property
    def changes(self) -> Changes | None:
        """What is new, and what is gone, since the last run in the history; None in the first one, and without one."""
        return self.plan.changes(self._as_run(self.document))

    def keep(self) -> None:
        """Add this run to its history, which the next one is compared with, and forget the copies that are gone.

        Raises NoHistoryError for an audit without one, OSError, and what the audit itself raises.
        """
        if self.plan.history is None:
            raise NoHistoryError
        self.plan.history.keep(self._as_run(self.document))
        if not self.plan.options.is_partial:
            self.plan.history.forget_others(self.plan.copies)

    def _as_run(self, document: dict[str, Any]) -> Run:
        return Run.of(document, self.plan.run_before)

    def assert_clean(self, allow: Collection[str] = ()) -> None:
        """Raise AuditNotCleanError where a partition is not `identical`, and its verdicts are not all in `allow`.

        Raises it for each finding of severity critical as well: acknowledged records are lost, or will be.
        NotAllowedError names the verdicts that there are.

        >>> audited.assert_clean(allow={"retention", "compaction", "lagging"})
        """
        verdicts = {verdict.value for verdict in Verdict}
        names = {allow} if isinstance(allow, str) else {*allow}
        for name in names:
            if name not in verdicts:
                raise NotAllowedError("a verdict to allow", name, ", ".join(sorted(verdicts)))
        allowed = names | {Verdict.IDENTICAL.value}
        wrong = [
            f"{each['topic']}-{each['partition']}: {', '.join(each['verdicts'])}"
            for each in self.document["partitions"]
            if not allowed.issuperset(each["verdicts"])
        ]
        lost = [
            f"{each['replica']}: {each['message']}"
            for each in self.document["findings"]
            if each["severity"] == "critical"
        ]
        if wrong or lost:
            raise AuditNotCleanError(lost, wrong)

    @abstractmethod
    def close(self) -> None:
        """Release what is kept of the examination."""

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"<Audit of {self.plan}>"

    def _repr_html_(self) -> str:
        """Show in a notebook what was found, with a picture of the fork that costs most, once `document` was read."""
        described = f"<p>{escape(repr(self))}</p>"
        if "document" not in self.__dict__:
            return f"{described}<p>What was found is not put together yet: ask for <code>document</code>.</p>"
        partitions = self.document["partitions"]
        counts = Counter(each["verdict"] for each in partitions).most_common()
        rows = "".join(f"<tr><td>{escape(verdict)}</td><td>{count:,}</td></tr>" for verdict, count in counts)
        from replication.copies.audit.report.lineage import draw_alone  # noqa: PLC0415  start-up time

        forked = max((each for each in partitions if each["forks"]), key=_records_at_stake, default=None)
        picture = (
            "" if forked is None else f"<p>{escape(forked['topic'])}-{forked['partition']}</p>{draw_alone(forked)}"
        )
        return f"{described}<table><tr><th>verdict</th><th>partitions</th></tr>{rows}</table>{picture}"

    @abstractmethod
    def difference_rows(self) -> Iterator[Row]:
        """Give the rows of the table `differences` one by one; times are microseconds since 1970 UTC."""

    @abstractmethod
    def _describe(self) -> dict[str, Any]:
        """Do the audit, unless it has been, and put its results together."""


def _records_at_stake(partition: dict[str, Any]) -> int:
    return max((each["records_lost"] or 0 for each in partition["pairs"]), default=0)
