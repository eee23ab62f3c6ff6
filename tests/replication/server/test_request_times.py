"""The requests that a server has answered, and how long they took."""

from replication.server.request_times import RequestKind, RequestTimes, RequestTotals

FETCH, PRODUCE = RequestKind(1, 17), RequestKind(0, 11)


def test_the_requests_of_all_connections_are_added_up_also_of_those_that_have_ended() -> None:
    times = RequestTimes()
    first, second = times.begin(), times.begin()
    first.note(FETCH, 0.5)
    first.note(FETCH, 0.25)
    second.note(FETCH, 1.0)
    second.note(PRODUCE, 2.0)
    expected = {FETCH: RequestTotals(3, 1.75, (0.5, 0.25, 1.0)), PRODUCE: RequestTotals(1, 2.0, (2.0,))}
    assert times.totals() == expected
    times.end(first)
    assert times.totals() == expected
    times.end(second)
    assert times.totals() == expected


def test_of_the_times_the_latest_are_kept() -> None:
    times = RequestTimes()
    connection = times.begin()
    for number in range(1_500):
        connection.note(FETCH, float(number))
    total = times.totals()[FETCH]
    assert (total.requests, total.recent[0], total.recent[-1], len(total.recent)) == (1_500, 500.0, 1_499.0, 1_000)
