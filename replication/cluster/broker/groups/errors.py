"""What a coordinator refuses."""

from replication.wire.error_code import ErrorCode


class GroupRefusedError(Exception):
    """A request is answered with an error code; it changed nothing but what the code says."""

    def __init__(self, code: ErrorCode, member_id: str | None = None) -> None:
        """`member_id` is the answer's, in place of the request's."""
        super().__init__(f"the group's coordinator answers {code.name}")
        self.code = code
        self.member_id = member_id
