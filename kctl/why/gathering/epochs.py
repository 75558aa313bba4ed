"""Part of a look about past leader epochs: their ends in the current logs."""

from collections.abc import Mapping
from functools import partial

from kctl.client.admin import EpochEnd, Results
from kctl.client.cluster import NO_EPOCH, TopicPartition
from kctl.why.gathering.asker import Asker
from kctl.why.look import Look

MOST_ROUNDS = 3
"""Maximum epochs of one partition, one in each request, the oldest first."""


def with_epoch_ends(asker: Asker, look: Look, before: Look | None) -> Look:
    known = look.partitions
    wanted: dict[TopicPartition, set[int]] = {}
    for group in look.groups.values():
        for tp, committed in group.committed.items():
            if committed is not None and committed.offset > 0:
                wanted.setdefault(tp, set()).add(committed.leader_epoch)
    for tp, info in {} if before is None else before.partitions.items():
        wanted.setdefault(tp, set()).add(info.leader_epoch)
    over = {
        tp: sorted(epoch for epoch in wanted[tp] if NO_EPOCH < epoch < known[tp].leader_epoch)
        for tp in asker.readable(known, wanted)
    }
    found: dict[tuple[TopicPartition, int], EpochEnd] = {}
    for number in range(MOST_ROUNDS):
        epochs = {tp: of[number] for tp, of in over.items() if number < len(of)}
        if not epochs:
            break
        ends = asker.each("OffsetForLeaderEpoch", "leader epochs", partial(_ask, asker, epochs))
        found |= {(tp, epochs[tp]): end for tp, end in ends.items()}
    return look._replace(epoch_ends=found)


def _ask(asker: Asker, epochs: Mapping[TopicPartition, int], timeout_s: float) -> Results[TopicPartition, EpochEnd]:
    return asker.admin.epoch_ends(epochs, timeout=timeout_s)
