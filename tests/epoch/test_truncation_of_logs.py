"""Random logs after random elections: KIP-320 truncates at the first difference, with Kafka's class as the leader."""

from random import Random

from epoch import AskEndOffset, EndOffset, Truncation, TruncationProtocol, truncate_against
from tests.campaign import Campaign
from tests.epoch.replicas import Replica, after_elections, elected, truncate_while_fetching
from tests.oracle.kafka import JavaProgram

MODEL = Campaign("truncation-model", full=200_000, share=3_000)
ORACLE = Campaign("truncation-oracle", full=20_000, share=250)
HIGH_WATERMARK, KIP_101, KIP_320 = TruncationProtocol


def pair(random: Random) -> tuple[Replica, Replica]:
    """A leader and a follower out of one cluster."""
    leader, follower = random.sample(after_elections(random, random.choice([3, 8, 20, 40])), 2)
    return leader, follower


def strangers(random: Random) -> tuple[Replica, Replica]:
    """A leader and a follower that share nothing: any history, as damage may leave it."""
    lengths = random.choices([0, 5, 30], k=2)
    leader, follower = (Replica().append(*sorted(random.choices(range(40), k=length))) for length in lengths)
    return leader, follower


def test_kip_320_truncates_at_the_first_difference_and_the_older_ones_do_not() -> None:
    random = Random(MODEL.seed)
    longest = lost = left_apart = 0
    for _ in range(MODEL.count):
        leader, follower = pair(random)
        history, first_difference = elected(leader), leader.agrees_until(follower)
        outcome = truncate_against(history, leader.end, follower.truncation(KIP_320))
        if len(follower.history):
            assert outcome.truncate_to == first_difference
            assert truncate_while_fetching(history, leader.end, follower)[1] == first_difference
        else:
            assert outcome == ([], 0)
        assert len(outcome.rounds) <= len(follower.history)
        longest = max(longest, len(outcome.rounds))
        by_watermark = truncate_against(history, leader.end, follower.truncation(HIGH_WATERMARK)).truncate_to
        lost += by_watermark < first_difference
        one_round = truncate_against(history, leader.end, follower.truncation(KIP_101)).truncate_to
        assert one_round >= first_difference
        left_apart += one_round > first_difference
    assert longest > 5
    assert lost
    assert left_apart
    MODEL.report(MODEL.count, f"up to {longest} rounds; one round leaves {left_apart} diverged")


def test_with_different_log_starts_nothing_that_both_can_read_differs() -> None:
    random = Random(MODEL.seed + 1)
    for _ in range(MODEL.count // 3):
        leader, follower = pair(random)
        leader.delete_records(random.randint(0, leader.end))
        follower.delete_records(random.randint(0, follower.end))
        readable_by_both = max(leader.start, follower.start)
        first_difference = leader.agrees_until(follower)
        outcome = truncate_against(elected(leader), leader.end, follower.truncation(KIP_320))
        if not len(follower.history):
            continue
        if first_difference >= readable_by_both:
            assert outcome.truncate_to == first_difference
        else:
            assert outcome.truncate_to <= max(readable_by_both, first_difference)


def test_without_epochs_the_high_watermark_decides() -> None:
    random = Random(MODEL.seed + 2)
    for _ in range(200):
        leader, follower = pair(random)
        truncation = Truncation(KIP_320, Replica().history, follower.end, follower.high_watermark)
        assert truncate_against(elected(leader), leader.end, truncation) == ([], follower.high_watermark)


def test_kafkas_answers_lead_to_the_same_offset(epoch_oracle: JavaProgram) -> None:
    random = Random(ORACLE.seed)
    rounds = 0
    for number in range(ORACLE.count):
        leader, follower = pair(random) if number % 3 else strangers(random)
        if random.random() < 0.4:
            leader.delete_records(random.randint(0, leader.end))
            follower.delete_records(random.randint(0, follower.end))
        history = leader.history if number % 10 == 0 else elected(leader)
        entries = " ".join(f"{epoch}:{start}" for epoch, start in history.entries)
        epoch_oracle.ask("reset", f"assignMany {entries}" if entries else "clear")
        for protocol in TruncationProtocol:
            expected = truncate_against(history, leader.end, follower.truncation(protocol))
            assert ask_kafka(epoch_oracle, leader.end, follower.truncation(protocol)) == expected
            rounds += len(expected.rounds)
    ORACLE.report(ORACLE.count, f"{rounds} questions", beside=epoch_oracle.release)


def ask_kafka(oracle: JavaProgram, leader_end: int, truncation: Truncation) -> tuple[list[object], int]:
    """Carry a truncation's questions to Kafka's cache."""
    rounds: list[object] = []
    while isinstance(step := truncation.next(), AskEndOffset) or not step.complete:
        if isinstance(step, AskEndOffset):
            [told] = oracle.ask(f"end {step.epoch} {leader_end}")
            answer = EndOffset(*map(int, told.split()))
            rounds.append((step.epoch, answer))
            truncation.answer(answer)
        else:
            truncation.truncated(step.offset)
    return rounds, step.offset
