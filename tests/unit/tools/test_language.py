"""Help, messages and pages get plainer: no file has more odd constructions than its ceiling, a new file has none."""

import pytest

from tools.language import RULES, all_hits, count_by_file, hits_of, read_ceilings


def test_no_file_has_more_odd_constructions_than_its_ceiling() -> None:
    hits, ceilings = list(all_hits()), read_ceilings()
    worse = {place for place, count in count_by_file(hits).items() if count > ceilings.get(place, 0)}
    shown = [f"{hit.place}: {hit.words!r} in {hit.text!r}: write {hit.instead}" for hit in hits if hit.place in worse]
    assert not worse, "\n".join(shown)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("Profile to use; else the current one.", ["; else"]),
        ("The options of this command and those of consume.", ["those of"]),
        ("Where no broker responds, the list is empty.", ["Where no"]),
        ("Print what is wrong.", []),
        ("Print what is left.", ["what is"]),
        ("The broker answers at once.", ["at once", "answers"]),
        ("kctl asks on a terminal, then asks a broker.", ["asks"]),
        ("The message names the option.", ["names the"]),
        ("Show the lag of groups.", []),
    ],
)
def test_odd_construction_is_found(text: str, words: list[str]) -> None:
    assert [hit.words for hit in hits_of("x", text)] == words


def test_each_rule_has_an_alternative() -> None:
    assert all(rule.instead for rule in RULES)
