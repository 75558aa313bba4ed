"""KctlDataSource: the class behind `format("kctl")`. All options and schemas are checked at planning.

Spark imports this module in several short-lived processes, so imports stay few.
"""

from collections.abc import Collection
from typing import TYPE_CHECKING, Final

from pyspark.sql.datasource import DataSource, DataSourceReader, DataSourceStreamReader, DataSourceStreamWriter

from kctl.client.errors import ConfigError
from kctl.pipeline.source.failures import SourceError, reported_in_one_line
from kctl.pipeline.source.option_table import READ
from kctl.pipeline.source.options import ReadOptions, WriteOptions, has_headers, read_options, write_options
from kctl.pipeline.spark_archive import keep_spark_archive

if TYPE_CHECKING:
    from pyspark.sql.datasource import DataSourceWriter
    from pyspark.sql.types import StructType

    from kctl.pipeline.source.decoded_table import SourceDecoding

SQL_TYPES: Final = {
    "key": "binary",
    "value": "binary",
    "topic": "string",
    "partition": "int",
    "offset": "bigint",
    "timestamp": "timestamp",
    "timestampType": "int",
    "headers": "array<struct<key:string,value:binary>>",
}
"""Columns of a read, as in Spark's Kafka connector. Headers are optional."""
_WRITABLE: Final = {
    "key": ("binary", "string"),
    "value": ("binary", "string"),
    "topic": ("string",),
    "partition": ("int",),
    "timestamp": ("timestamp",),
    "headers": ("array<struct<key:string,value:binary>>",),
}


class KctlDataSource(DataSource):
    @classmethod
    def name(cls) -> str:
        return "kctl"

    _decoding: "SourceDecoding | None" = None
    """Decoding that `schema` has found. Spark keeps this object with the table, so the reader uses the schemas of the
    plan.
    """

    def schema(self) -> "str | StructType":
        """Return the columns of the table. A user's schema can select some of them."""
        keep_spark_archive()
        with reported_in_one_line():
            names = [name for name in SQL_TYPES if name != "headers" or has_headers(self.options)]
        if "decode" in self.options:
            with reported_in_one_line():
                self._decoding = _decoding_of(self._read_options())
        if self._decoding is not None:
            return self._decoding.table(names)
        return ", ".join(f"{name} {SQL_TYPES[name]}" for name in names)

    def reader(self, schema: "StructType") -> DataSourceReader:
        from kctl.pipeline.source.batch_reader import KctlReader

        keep_spark_archive()
        return KctlReader(*self._read_plan(schema, is_stream=False))

    def streamReader(self, schema: "StructType") -> DataSourceStreamReader:
        from kctl.pipeline.source.stream_reader import KctlStreamReader, RefusedStreamReader

        try:
            return KctlStreamReader(*self._read_plan(schema, is_stream=True))
        except SourceError as error:
            return RefusedStreamReader(error)

    def writer(self, schema: "StructType", overwrite: bool) -> "DataSourceWriter":
        from kctl.pipeline.source.writers import KctlWriter

        keep_spark_archive()
        with reported_in_one_line():
            if overwrite:
                raise ConfigError(
                    "invalid mode 'overwrite': use append, because records of a topic cannot be replaced", key="mode"
                )
            options = write_options(self.options)
            check_writable(schema, options)
        return KctlWriter(options)

    def streamWriter(self, schema: "StructType", overwrite: bool) -> DataSourceStreamWriter:
        """Return the writer of a streaming query. Spark determines the argument names."""
        from pyspark.sql import datasource

        keep_spark_archive()
        with reported_in_one_line():
            if overwrite:
                raise ConfigError(
                    "invalid output mode 'complete': use append or update, because records of a topic cannot be "
                    "replaced",
                    key="mode",
                )
            options = write_options(self.options)
            check_writable(schema, options)
        if hasattr(datasource, "DataSourceStreamArrowWriter"):  # Spark 4.1 and newer
            from kctl.pipeline.source.arrow_stream_writer import KctlStreamWriter

            return KctlStreamWriter(options)
        from kctl.pipeline.source.writers import KctlRowStreamWriter

        return KctlRowStreamWriter(options, schema)

    def _read_plan(
        self, schema: "StructType", *, is_stream: bool
    ) -> "tuple[ReadOptions, list[str], SourceDecoding | None]":
        with reported_in_one_line():
            options = read_options(self.options, is_stream=is_stream)
            decoding = self._decoding or _decoding_of(options)
            if decoding is not None:
                decoding = decoding.pruned(schema)
            check_readable(schema, () if decoding is None else decoding.spark_types())
            return options, list(schema.fieldNames()), decoding

    def _read_options(self) -> ReadOptions:
        shared = {name: value for name, value in self.options.items() if name.lower() not in _OF_ONE_KIND}
        return read_options(shared, is_stream=False)


_OF_ONE_KIND: Final = frozenset(row.name.lower() for row in READ.values() if row.use in ("stream", "batch"))


def _decoding_of(options: ReadOptions) -> "SourceDecoding | None":
    if options.decode is None:
        return None
    from kctl.pipeline.source.decoded_table import source_decoding

    return source_decoding(options.decode, options.selection, dict(options.properties))


def check_readable(schema: "StructType", decoded: Collection[str] = ()) -> None:
    """Raise ConfigError if a column of a user's schema does not exist or has another type.

    Args:
        decoded: names of decoded columns, which are checked elsewhere.
    """
    for field in schema.fields:
        if field.name in decoded:
            continue
        wanted, given = SQL_TYPES.get(field.name), field.dataType.simpleString()
        if wanted is None:
            known = [*SQL_TYPES, *(name for name in decoded if name not in SQL_TYPES)]
            raise ConfigError(f"unknown column {field.name!r} in the schema: use {', '.join(known)}", key=field.name)
        if given != wanted:
            raise ConfigError(f"column {field.name} has type {given} in the schema: use {wanted}", key=field.name)


def check_writable(schema: "StructType", options: WriteOptions) -> None:
    types = {field.name: field.dataType.simpleString() for field in schema.fields}
    if "value" not in types:
        raise ConfigError(
            f"the rows need a column named 'value'. Columns found: {', '.join(types) or 'none'}", key="value"
        )
    if options.topic is None and "topic" not in types:
        raise ConfigError("the rows have no topic: set the option topic, or add a column topic", key="topic")
    for name, accepted in _WRITABLE.items():
        is_written = name != "timestamp" or options.keep_timestamps
        if is_written and name in types and types[name] not in accepted:
            raise ConfigError(f"column {name} has type {types[name]}, expected {' or '.join(accepted)}", key=name)
