"""Spark types of a table with decoded columns, and the plan for its reader."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

import pyarrow as pa
from pyspark.sql import types as spark

from kctl.client.errors import ConfigError
from kctl.pipeline.decoding.plan import KEY, VALUE, DecodePlan, DecodeRequest, plan_decoding
from kctl.pipeline.decoding.record_decoding import ERROR, ERROR_TYPE, DecodedTypes, types_of
from kctl.pipeline.record_columns import TYPES

if TYPE_CHECKING:
    from kctl.pipeline.ranges import Properties, Selection

_SCALARS = {
    pa.bool_(): spark.BooleanType(),
    pa.int32(): spark.IntegerType(),
    pa.int64(): spark.LongType(),
    pa.float32(): spark.FloatType(),
    pa.float64(): spark.DoubleType(),
    pa.string(): spark.StringType(),
    pa.binary(): spark.BinaryType(),
    pa.date32(): spark.DateType(),
    pa.timestamp("us", "UTC"): spark.TimestampType(),
    pa.timestamp("us"): spark.TimestampNTZType(),
}


class SourceDecoding(NamedTuple):
    """Decoding of a table's records. The types may have fewer fields than the plan."""

    plan: DecodePlan
    types: DecodedTypes

    def spark_types(self) -> dict[str, spark.DataType]:
        decoded = {name: spark_type(each) for name, each in self.types._asdict().items() if each is not None}
        return {**decoded, ERROR: spark_type(ERROR_TYPE)}

    def table(self, names: Sequence[str]) -> spark.StructType:
        types = {name: spark_type(TYPES[name]) for name in names} | self.spark_types()
        return spark.StructType([spark.StructField(name, each) for name, each in types.items()])

    def pruned(self, schema: spark.StructType) -> "SourceDecoding":
        """Return the decoding with only the fields of a user's schema."""
        given = {field.name: field.dataType for field in schema.fields}
        types = {
            name: each if each is None or name not in given else _pruned(each, given[name], name)
            for name, each in self.types._asdict().items()
        }
        if ERROR in given and given[ERROR] != spark_type(ERROR_TYPE):
            raise ConfigError(
                f"invalid type of column {ERROR} in the schema: use {spark_type(ERROR_TYPE).simpleString()}", key=ERROR
            )
        return self._replace(types=DecodedTypes(types[KEY], types[VALUE]))


def source_decoding(request: DecodeRequest, selection: "Selection", properties: "Properties") -> SourceDecoding:
    """Return the decoding of a table, with schemas from the registry.

    Raises:
        ConfigError: there are several topics and no explicit schema.
        KafkaError: the registry failed a request.
    """
    topics = {*selection.topics, *(tp.topic for tp in selection.partitions)}
    if request.is_for_one_topic and (selection.pattern or len(topics) != 1):
        raise ConfigError(
            "option decode needs a common schema for several topics: set option decodeSchema",
            key="decodeSchema",
        )
    plan = plan_decoding(request, min(topics, default=""), properties)
    return SourceDecoding(plan, types_of(plan))


def spark_type(given: pa.DataType) -> spark.DataType:
    if pa.types.is_struct(given):
        return spark.StructType([spark.StructField(field.name, spark_type(field.type)) for field in given])
    if pa.types.is_list(given):
        return spark.ArrayType(spark_type(given.value_type))
    if pa.types.is_map(given):
        return spark.MapType(spark_type(given.key_type), spark_type(given.item_type))
    if pa.types.is_decimal128(given):
        return spark.DecimalType(given.precision, given.scale)
    return _SCALARS[given]


def _pruned(whole: pa.DataType, wanted: spark.DataType, place: str) -> pa.DataType:
    if pa.types.is_struct(whole) and isinstance(wanted, spark.StructType):
        known = {field.name: field.type for field in whole}
        for field in wanted.fields:
            if field.name not in known:
                raise ConfigError(
                    f"unknown field {field.name} of {place} in the schema: use {', '.join(known)[:300]}", key=place
                )
        return pa.struct(
            [
                pa.field(field.name, _pruned(known[field.name], field.dataType, f"{place}.{field.name}"))
                for field in wanted.fields
            ]
        )
    if pa.types.is_list(whole) and isinstance(wanted, spark.ArrayType):
        return pa.list_(pa.field("element", _pruned(whole.value_type, wanted.elementType, f"{place}.element")))
    if pa.types.is_map(whole) and isinstance(wanted, spark.MapType):
        return pa.map_(whole.key_type, _pruned(whole.item_type, wanted.valueType, f"{place}.value"))
    if spark_type(whole).simpleString() != wanted.simpleString():
        found = spark_type(whole).simpleString()
        raise ConfigError(f"{place} has type {wanted.simpleString()[:300]} in the schema: use {found[:300]}", key=place)
    return whole
