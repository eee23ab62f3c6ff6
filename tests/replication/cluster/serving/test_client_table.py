"""docs/compatibility.md says of no client what no test shows."""

from tests.replication.cluster.serving.client_table import clients, in_page, table


def test_the_table_of_clients_is_as_the_tests_make_it() -> None:
    assert in_page() == table()


def test_each_yes_is_a_test() -> None:
    for client in clients():
        assert client.shown
        assert all(test.__name__.startswith("test_") for test in client.shown.values())
