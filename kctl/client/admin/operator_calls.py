"""OperatorCalls: the methods of `Admin` for those who run a cluster: configs, partitions, access, moves.

Owns their arguments; one file per resource does the work. Shown by tests/sim/admin.
"""

from collections.abc import Mapping, Sequence
from datetime import timedelta

from kctl.client.admin import configs, partitions
from kctl.client.admin.call import Call, Results
from kctl.client.admin.configs import ConfigResource, Configs

Timeout = float | timedelta | None


class OperatorCalls:
    """What `Admin` has beyond topics, offsets and groups."""

    def _call(self, what: str, timeout: Timeout, partial_timeout: Timeout = None) -> Call:
        raise NotImplementedError

    # --- configs ------------------------------------------------------------------------------------------------------

    def describe_configs(
        self,
        resources: Sequence[ConfigResource],
        *,
        include_synonyms: bool = False,
        include_documentation: bool = False,
        timeout: Timeout = None,
    ) -> Results[ConfigResource, Configs]:
        """Return the config entries of topics, brokers or groups, by name.

        Args:
            include_synonyms: also the values in other places, which the one in force overrides.
            include_documentation: also what each property means, as the broker describes it.
        Raises: ValueError: the name of a broker is not its id.
        """
        call = self._call("describing configs", timeout)
        return configs.describe_configs(call, resources, synonyms=include_synonyms, documentation=include_documentation)

    def alter_configs(
        self,
        changes: Mapping[ConfigResource, Mapping[str, str | None]],
        *,
        validate_only: bool = False,
        timeout: Timeout = None,
    ) -> Results[ConfigResource, None]:
        """Change single config entries and leave the others alone; each resource is changed as a whole or not at all.

        Args:
            changes: for each resource, values by name; None removes what is set, so that the default is in force.
            validate_only: let the brokers check, and change nothing.
        Raises:
            UnsupportedVersionError: the broker is older than Kafka 2.3.
            ValueError: the name of a broker is not its id.
        """
        return configs.alter_configs(self._call("changing configs", timeout), changes, validate_only=validate_only)

    # --- partitions ---------------------------------------------------------------------------------------------------

    def create_partitions(
        self, counts: Mapping[str, int], *, validate_only: bool = False, timeout: Timeout = None
    ) -> Results[str, None]:
        """Let topics have more partitions; existing records stay where they are.

        Args:
            counts: for each topic, how many partitions it has then in all.
            validate_only: let the brokers check, and change nothing.
        """
        call = self._call("creating partitions", timeout)
        return partitions.create_partitions(call, counts, validate_only=validate_only)
