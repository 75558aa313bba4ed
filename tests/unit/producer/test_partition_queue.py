from kctl.client.producer.partition_queue import MAX_EPOCH, SEQUENCES, PartitionSequence


def sequence(next_sequence: int = 0, epoch: int = 0) -> PartitionSequence:
    made = PartitionSequence()
    made.adopt(7, epoch)
    made.next_sequence = next_sequence
    return made


def test_sequences_follow_each_other_and_start_over_after_the_last() -> None:
    made = sequence(SEQUENCES - 3)
    assert [made.reserve(2), made.reserve(5), made.reserve(1)] == [SEQUENCES - 3, SEQUENCES - 1, 4]


def test_sequence_numbers_given_back_are_used_again() -> None:
    made = sequence()
    made.reserve(10)
    made.give_back(0)
    assert made.reserve(3) == 0


def test_a_gap_raises_the_epoch_until_they_are_used_up() -> None:
    made = sequence(5, MAX_EPOCH - 1)
    made.begin_epoch()
    assert (made.epoch, made.next_sequence, made.is_used_up) == (MAX_EPOCH, 0, False)
    made.begin_epoch()
    assert made.is_used_up
