"""Whether the controller may have fenced a broker, as far as its own clock shows. No clock, no I/O."""

from typing import Final


class OwnSession:
    """Lasts for some time from when a heartbeat was sent whose answer lets the broker serve.

    The controller's lasts longer, as it begins when the heartbeat arrives. Once it was over another broker may lead
    what this one leads, and the heartbeat that renews it does not say so: it goes on only once metadata is applied that
    was fetched after the answer. Times are milliseconds of a clock that never goes back. One thread reports
    heartbeats, another metadata, and any may ask.
    """

    def __init__(self, timeout_ms: int | None = None) -> None:
        """Begin before the first heartbeat; None: it is never over."""
        self._timeout_ms: Final = timeout_ms
        self.heard_at: int | None = None
        """When the last heartbeat was sent, if by its answer the broker is not fenced."""
        self.longest_gap_ms: int = 0
        """The longest time between two such heartbeats that followed on each other."""
        self.renewed_at: int = -1
        """When it was last heard that it goes on after it may have been over; -1 before that."""
        self.has_begun: bool = False
        """Whether there ever was such a heartbeat."""
        self._contact_at: int | None = None
        self._is_doubtful = False
        self._metadata_as_of = 0

    def registered(self, sent_at: int) -> None:
        """Note that the controller knows the broker, which leads nothing before its first heartbeat."""
        if self._contact_at is None:
            self._contact_at = sent_at

    def heard(self, sent_at: int, now: int) -> None:
        """Note an answer by which the broker is not fenced."""
        self._contact(sent_at, now)
        if self._is_doubtful:
            self.renewed_at = now
            self._is_doubtful = False
        if self.heard_at is not None:
            self.longest_gap_ms = max(self.longest_gap_ms, sent_at - self.heard_at)
        self.has_begun = True
        # Last: who asks meanwhile must not find it renewed, and what it waits for not yet.
        self.heard_at = sent_at

    def fenced(self, sent_at: int, now: int) -> None:
        """Note an answer by which the broker is fenced."""
        self._contact(sent_at, now)
        self._is_doubtful = self._is_doubtful or self.heard_at is not None
        self.heard_at = None

    def metadata_applied(self, as_of: int) -> None:
        """Note that all that the controller had committed at this time has been applied."""
        self._metadata_as_of = max(self._metadata_as_of, as_of)

    def is_over(self, now: int) -> bool:
        """Whether another broker may lead what this one leads by what it knows."""
        if self._timeout_ms is None:
            return False
        heard_at = self.heard_at
        return heard_at is None or self._has_run_out(heard_at, now) or self._metadata_as_of <= self.renewed_at

    def _contact(self, sent_at: int, now: int) -> None:
        """Note whether so much time has passed since the last answer that the controller may have fenced the broker."""
        if self._contact_at is None or self._has_run_out(self._contact_at, now):
            self._is_doubtful = True
        self._contact_at = sent_at

    def _has_run_out(self, since: int, now: int) -> bool:
        return self._timeout_ms is not None and now - since >= self._timeout_ms
