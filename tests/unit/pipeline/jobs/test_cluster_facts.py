"""What an export carries of groups, and the one that it does not have."""

import pytest

from kctl.client.errors import ConfigError
from kctl.pipeline.export_files.cluster_facts import ClusterFacts
from kctl.pipeline.group_selection import GroupSelection
from kctl.pipeline.jobs.cluster_facts import chosen_groups


def test_group_that_an_export_lacks_is_named_beside_a_few_that_it_has() -> None:
    facts = ClusterFacts(groups={f"g{number:03}": {} for number in range(1000)})
    assert chosen_groups(facts, GroupSelection(("g001",)), "/x") == ["g001"]
    with pytest.raises(ConfigError) as caught:
        chosen_groups(facts, GroupSelection(("h",)), "/x")
    assert str(caught.value) == "group h is not in /x. Exported groups: g000, g001, g002, g003, g004 and 995 more"
