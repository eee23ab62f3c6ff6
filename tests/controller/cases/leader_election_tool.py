"""What kafka-leader-election 4.3.1 printed on real clusters."""

from tests.controller.case import Case, Cases, Document, missing, only


def cases(document: Document) -> Cases:
    only(document, "source", "notes", "cases")
    for case in document["cases"]:
        yield Case(case["id"], missing("epochlog elect"), not_yet="replication/cli/elect.py")
