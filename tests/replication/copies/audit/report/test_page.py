"""The report: one page that needs nothing beside itself, and what it says."""

import json
import re
from html import escape

from replication.copies.audit.judgement.verdict_sentence import verdict_in_words
from replication.copies.audit.report import render
from replication.copies.audit.report.card import MOST_FINDINGS
from replication.copies.audit.report.commands import BOOTSTRAP
from replication.copies.audit.report.summary import MOST_LISTED
from replication.copies.audit.runbook.runbook import runbook
from tests.replication.copies.audit.report.documents import (
    CRITICAL,
    STRANDED,
    agreeing,
    document,
    elects,
    finding,
    forked,
)

HOSTILE = "</script><img src=x onerror=alert(1)>"


def read(page: str) -> str:
    """The page without what only keeps words whole."""
    return re.sub(r'<span class="word">(.*?)</span>', r"\1", page)


def card_of(page: str, name: str) -> str:
    """The card of one partition."""
    cards = re.findall(r'<section class="card".*?</section>', read(page), re.DOTALL)
    (found,) = [each for each in cards if f">{name} <" in each]
    return found


def test_the_page_asks_for_nothing_from_elsewhere() -> None:
    page = render(document(forked(), findings=(finding(),)))
    assert not re.findall(r"(?:src|href)=[\"'](?!data:|#)|url\((?!#)|@import|https?://", page)


def test_names_from_files_stay_text() -> None:
    partition = forked(topic=HOSTILE)
    for key in ("candidates", "branches", "pairs", "forks"):
        for each in partition[key]:
            for name in ("replica", "directory", "leader", "follower", "left", "right"):
                each[name] = (
                    HOSTILE if each.get(name) in {"broker-2", "/copies/broker-2/payments-0"} else each.get(name)
                )
    partition |= {"missing": [HOSTILE], "unread": [HOSTILE], "least_loss": HOSTILE, "latest_and_longest": HOSTILE}
    partition = elects(partition, HOSTILE)
    hostile = finding(file=HOSTILE, message=HOSTILE, topic=HOSTILE, replica=HOSTILE)
    offset = {**STRANDED, "group": HOSTILE, "topic": HOSTILE}
    history = {"new": [HOSTILE], "gone": [], "standing": [{"name": HOSTILE, "since": 0}]}
    page = render(document(partition, findings=(hostile,), consumer_offsets=[offset], history=history))
    assert "<img" not in page
    assert page.count("</script>") == page.count("<script")


def test_agreement_is_said_in_a_sentence_and_nothing_is_to_do() -> None:
    page = render(document(agreeing("orders", 0)))
    assert "All copies agree, and no damage was found in what was read" in page
    assert 'class="card"' not in page
    assert "<ol" not in page


def test_an_identical_partition_with_an_error_is_not_called_sound() -> None:
    assert "no damage was found" not in render(document(agreeing("orders", 0), findings=(finding(),)))


def test_the_loss_of_acknowledged_records_comes_first() -> None:
    page = read(render(document(forked(), findings=(CRITICAL, finding()))))
    heading = page.index("Acknowledged records are lost, or will be")
    link = page.index('<a href="#card-1">payments-0</a>')
    assert heading < link < page.index('"tiles"') < page.index("What to do first") < page.index('id="card-1"')
    assert "120 acknowledged records if broker-2 leads, as Kafka elects; 0 if broker-1 leads" in page


def test_the_runbook_is_the_one_that_is_printed() -> None:
    found = document(forked())
    page = read(render(found))
    assert page.index("Then, in this order") < page.index('id="card-1"')
    planned = [*runbook(found, BOOTSTRAP)]
    assert [step.check for step in planned if step.check] == ["broker-1 leads payments-0"]
    for step in planned:
        for text in (step.what, step.stopped, step.loses, step.check, *step.commands, *step.check_commands):
            assert text is None or escape(text) in page


def test_only_so_many_losses_are_listed_at_once() -> None:
    forks = [forked("ledger", number) for number in range(MOST_LISTED + 3)]
    critical = tuple(
        finding("committed-records-lost", "critical", topic="ledger", partition=number)
        for number in range(MOST_LISTED + 3)
    )
    page = read(render(document(*forks, findings=critical)))
    assert page.count("acknowledged records if broker-2 leads") == MOST_LISTED
    assert f"In {MOST_LISTED + 3} of {MOST_LISTED + 3} partitions" in page
    assert "3 more follow below." in page


def test_a_card_begins_with_the_verdict_as_a_sentence() -> None:
    card = card_of(render(document(forked())), "payments-0")
    sentence = escape(verdict_in_words(forked()))
    assert f'<p class="verdict">{sentence}.</p>' in card
    assert card.index(sentence) < card.index("What each leader would cost") < card.index("<figure")
    assert card.index("<figure") < card.index("What to do")


def test_a_card_says_for_each_leader_what_is_lost_where_when_and_by_whom() -> None:
    card = card_of(render(document(forked())), "payments-0")
    choices = re.findall(r'<li><p class="leader">.*?</ul>', card, re.DOTALL)
    leaders = [re.findall(r"<b>(broker-\d)</b> leads", each)[0] for each in choices]
    assert leaders == ["broker-1", "broker-2", "broker-3"], "the least loss first"
    assert "<b>50</b> records lost, <b>50</b> with acks=1, if at all" in choices[0]
    assert "Offsets 300..349, leader epoch 2, written 2023-11-14 22:13:20 to 22:14:20 UTC." in choices[0]
    assert "broker-2 truncates to 300: 50 records, 3,500 bytes" in choices[0]
    assert "broker-3 truncates nothing" in choices[0]
    assert ("least loss" in choices[0], "Kafka&#x27;s choice" in choices[0]) == (True, False)


def test_what_is_said_of_two_copies_is_said_once() -> None:
    card = card_of(render(document(forked())), "payments-0")
    lines = re.findall(r"broker-\d truncates to 300: [^<]*", card)
    assert len(lines) == len([each for each in forked()["pairs"] if each["records_lost"]])
    fork = "At offset 300 broker-1 has epoch 1, written 2023-11-14 22:13:20 UTC; broker-2 has epoch 2, written"
    assert card.count(fork) == 1


def test_a_damaged_copy_is_never_named_as_leader_without_its_damage() -> None:
    partition = forked()
    for each in partition["candidates"][:2]:
        each["damage"] = "damaged, 7 errors in its log"
    page = render(document(partition))
    assert page.count("broker-1 (not to be trusted: damaged, 7 errors in its log)") == 1, "in the table"
    choices = re.findall(r'<li><p class="leader">.*?</ul>', page, re.DOTALL)
    assert ["Not to be trusted: damaged, 7 errors in its log." in each for each in choices] == [True, True, False]


def test_a_partition_with_an_unread_copy_is_unknown_and_nothing_in_it_is_called_sound() -> None:
    partition = {**agreeing("orders", 0, "unknown"), "unread": ["broker-3"], "recommended": None}
    page = read(render(document(partition)))
    assert "their contents, and what is lost, are not known" in page
    assert "The copy on broker-3 could not be read whole, or changed meanwhile: what it held is not known" in page
    assert "nothing is lost" not in page
    assert "All copies agree" not in page
    assert rows_of(page, "partitions") == [["orders-0", "unknown", *["broker-1"] * 3, "broker-3", 100]], (
        "how many records are lost is not known"
    )


def rows_of(page: str, table: str) -> list[list[object]]:
    """The rows of a table, without columns that are empty throughout."""
    (data,) = re.findall(rf'id="{table}-data">(.*?)</script>', page)
    rows: list[list[object]] = json.loads(data)["rows"]
    return rows


def test_damage_and_silent_differences_and_missing_copies_have_cards_the_worst_first() -> None:
    damaged = agreeing("orders", 1, "damaged")
    damaged["candidates"][1]["damage"] = "damaged, 3 errors in its log"
    silent = agreeing("orders", 2, "silent-divergence")
    missing = {**agreeing("orders", 3, "missing"), "missing": ["broker-3"]}
    harmless = [agreeing("orders", 4, "retention"), agreeing("orders", 5, "lagging"), agreeing("orders", 6)]
    losing = forked("orders", 9)
    critical = finding("committed-records-lost", "critical", topic="orders", partition=9)
    error = finding(topic="orders", partition=1, offset=17, message="the checksum does not match")
    partitions = [*harmless, missing, silent, damaged, forked("orders", 0), losing]
    page = render(document(*partitions, findings=(critical, error)))
    assert re.findall(r'id="card-\d+-name">(\S+) ', page) == [
        "orders-9",
        "orders-2",
        "orders-1",
        "orders-0",
        "orders-3",
    ]
    card = card_of(page, "orders-1")
    assert "The copy on broker-2 is damaged" in card
    assert "<b>error: corrupt-batch</b> (broker-1, 00000000000000000000.log, byte 4,096): the checksum does not" in card
    assert "corrupt-batch at offset 17" in card, "marked in the picture"


def test_only_so_many_findings_stand_on_a_card() -> None:
    findings = tuple(finding(offset=number) for number in range(MOST_FINDINGS + 4))
    card = card_of(render(document(forked(), findings=findings)), "payments-0")
    assert card.count("<b>error: corrupt-batch</b>") == MOST_FINDINGS
    assert '4 more are in the <a href="#findings">table of findings</a>' in card


def test_what_belongs_to_no_partition_that_was_compared_is_said_too() -> None:
    root = finding("checkpoint-unparsable", topic=None, partition=None, file="replication-offset-checkpoint")
    nowhere = finding("partition-nowhere", "warning", topic="lost", partition=7, file=None, message="no copy is there")
    page = render(document(agreeing("orders", 0), findings=(root, nowhere)))
    assert "<b>broker-1, replication-offset-checkpoint</b>: the checksum" in page
    assert "<b>broker-1, lost-7</b>: no copy is there" in page


def test_what_to_do_first_stands_above_the_cards_where_records_are_at_stake() -> None:
    page = render(document(forked()))
    assert page.index("Start no broker and hold no election") < page.index('class="card"')
    assert "export BOOTSTRAP=broker1:9092" in page
    missing = render(document({**agreeing("orders", 3, "missing"), "missing": ["broker-3"]}))
    assert "Start no broker" not in missing
    assert "export BOOTSTRAP" in missing, "its command needs it"
    damaged = agreeing("orders", 1, "damaged")
    assert "export BOOTSTRAP" not in render(document(damaged))


def test_what_is_new_since_the_last_audit_is_listed() -> None:
    standing = [{"name": "payments-0: forked", "since": 1_700_000_000.0}]
    page = render(document(forked(), history={"new": ["payments-0 is forked"], "gone": [], "standing": standing}))
    assert rows_of(page, "standing") == [["2023-11-14 22:13 UTC", "payments-0: forked"]]
    assert rows_of(page, "changes") == [["new", "payments-0 is forked"]]
    assert '<a href="#since">Since the last audit</a>: 1 new and 0 gone.' in page
    same = render(document(forked(), history={"new": [], "gone": [], "standing": []}))
    assert '<a href="#since">Since the last audit</a>: nothing new.' in same


def test_consumers_beyond_a_cut_are_listed() -> None:
    page = render(document(forked(), consumer_offsets=[STRANDED]))
    assert rows_of(page, "consumers") == [["billing", "payments-0", 410, 300, "broker-1"]]
    assert "--group billing --topic payments:0 --reset-offsets --to-offset 300" in card_of(page, "payments-0")


def test_what_a_browser_is_shown_is_printable() -> None:
    page = render(document(forked(), findings=(finding(file="\udcff\x1b[31m.log", message="\u202e"),)))
    page.encode()
    assert "\\\\xff\\\\x1b[31m.log" in page
    assert not re.findall(r"[\x00-\x09\x0b-\x1f\u202e]", page)
