"""The requests that a server has answered, and how long they took."""

from replication.wire.server.request_times import RequestKind, RequestSeconds, RequestTimes, RequestTotals

FETCH, PRODUCE = RequestKind(1, 17), RequestKind(0, 11)


def test_the_requests_of_all_connections_are_added_up_also_of_those_that_have_ended() -> None:
    times = RequestTimes()
    first, second = times.begin(), times.begin()
    fetches = RequestSeconds(0.5, 4.0, 1.0), RequestSeconds(0.25, 0.0, 2.0), RequestSeconds(1.0, 8.0, 4.0)
    first.note(FETCH, *fetches[0])
    first.note(FETCH, *fetches[1])
    second.note(FETCH, *fetches[2])
    second.note(PRODUCE, 2.0, 1.0, 0.5)
    produced = RequestSeconds(2.0, 1.0, 0.5)
    expected = {
        FETCH: RequestTotals(3, RequestSeconds(1.75, 12.0, 7.0), fetches),
        PRODUCE: RequestTotals(1, produced, (produced,)),
    }
    assert produced.total == 3.5
    assert times.totals() == expected
    times.end(first)
    assert times.totals() == expected
    times.end(second)
    assert times.totals() == expected


def test_of_the_times_the_latest_are_kept() -> None:
    times = RequestTimes()
    connection = times.begin()
    for number in range(1_500):
        connection.note(FETCH, float(number), 0.0, 0.0)
    total = times.totals()[FETCH]
    assert (total.requests, total.recent[0].local, total.recent[-1].local) == (1_500, 500.0, 1_499.0)
    assert len(total.recent) == 1_000
