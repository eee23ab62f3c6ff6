"""docs/compatibility.md says of no client of a broker what no test shows."""

from tests.replication.cluster.serving.client_table import in_page
from tests.replication.cluster.standalone.client_table import BEGIN, clients, table
from tests.replication.cluster.standalone.java_clients import CHECKS


def test_the_table_of_clients_is_as_the_tests_make_it() -> None:
    assert in_page(BEGIN) == table()


def test_each_yes_is_a_test() -> None:
    for client in clients():
        assert client.shown
        for check in client.shown.values():
            assert check.__name__.startswith("test_") or CHECKS[check.__name__] is check
