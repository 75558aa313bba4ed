"""Help, messages and pages get plainer: no file has more odd constructions than its ceiling, a new file has none."""

import pytest

from tools.language import RULES, all_hits, hits_of, read_ceilings, words_of_pages, worse_hits


def test_no_file_has_more_odd_constructions_than_its_ceiling() -> None:
    worse = worse_hits(all_hits(), read_ceilings())
    assert not worse, "\n".join(["", *map(str, worse)])


def test_pages_of_users_have_at_most_22_000_words() -> None:
    assert 10_000 < words_of_pages() <= 22_000, "move facts that `kctl explain` or --help shows out of docs/"


def test_file_worse_in_a_single_rule_is_listed_with_line_and_rule() -> None:
    hits = [*hits_of("docs/a.md", 3, "The broker answers at once."), *hits_of("docs/b.md", 1, "It waits, else fails.")]
    assert worse_hits(hits, {("docs/a.md", "P5"): 1, ("docs/a.md", "P8"): 1, ("docs/b.md", "P1"): 1}) == []
    worse = worse_hits(hits, {("docs/a.md", "P5"): 1, ("docs/b.md", "P1"): 1})
    assert [str(hit) for hit in worse] == [
        "docs/a.md:3: P8 'answers': write respond, response: 'The broker answers at once.'"
    ]


def test_file_without_a_ceiling_may_have_no_odd_construction() -> None:
    hits = hits_of("docs/new.md", 1, "It waits, else fails.")
    assert worse_hits(hits, {}) == hits != []


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
    assert [hit.words for hit in hits_of("x", 1, text)] == words


def test_each_rule_has_an_alternative() -> None:
    assert all(rule.instead for rule in RULES)
