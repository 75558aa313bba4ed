"""Execution of `kctl produce`: reads and sends records, waits for their delivery, and prints an account.

Reading pauses while the producer's memory is full. In any case, the producer is closed and the account is printed.
"""

from collections.abc import Callable
from itertools import islice
from typing import TYPE_CHECKING

from kctl.cli import click
from kctl.cli.data_out import OutputClosed
from kctl.cli.exit_codes import ExitCode
from kctl.cli.failures import CommandError, exit_code, explain
from kctl.cli.formats.listing import write_listing
from kctl.cli.input.form import Block, BlockPart, InputRecord
from kctl.cli.input.inputs import Inputs
from kctl.cli.interrupts import Interrupted
from kctl.cli.options import DEFAULT_CLOSE_MS, Common
from kctl.cli.produce.delivery_account import account_code, delivery_listing, not_delivered, report_account
from kctl.cli.produce.outcomes import Outcomes
from kctl.cli.produce.pace import Pace
from kctl.cli.produce.record_sender import RecordSender
from kctl.cli.produce.request import EndBudget, ProduceRequest, api_timeout_ms, bound_delivery
from kctl.cli.produce.undelivered import UndeliveredFile, UndeliveredRecord
from kctl.cli.view.status import SendStatus
from kctl.cli.view.status_texts import SendFigures
from kctl.client.broker_errors import ProducerFencedError
from kctl.client.clock import duration_text
from kctl.client.cluster import TopicPartition
from kctl.client.config import ProducerConfig, RegistryConfig
from kctl.client.errors import (
    FatalTransactionError,
    FlushTimeout,
    KafkaError,
    KafkaTimeoutError,
    RecordTooLargeError,
    UndeliveredError,
)
from kctl.client.network.system import system_runtime
from kctl.client.producer import CloseResult, Producer
from kctl.client.runtime import Runtime
from kctl.client.wording import counted

if TYPE_CHECKING:
    from kctl.cli.decode.encoding import Encoding
    from kctl.client.records import Header

BATCH_BYTES = 1_000_000
"""Default of batch.size: large batches cost less, and brokers accept up to 1,048,588 bytes."""


FEW_ROWS = 8
"""Rows below which a part of a block is sent row by row, since a call for many rows costs about as much."""
BULK_BYTES = 512 * 1024
"""Input size above which freed memory is kept for later blocks."""


Ending = KafkaError | CommandError | Interrupted
"""Exceptions that stop the command before the end of its input."""


def run_producing(common: Common, request: ProduceRequest) -> int:
    config = _config(common, request)
    undelivered = None if request.undelivered is None else UndeliveredFile(request.undelivered)
    runtime = system_runtime()
    producer = Producer(config, runtime, events=common.events)
    try:
        return _Producing(common, request, config, undelivered, runtime, producer).run()
    finally:
        producer.close(0)  # it is closed, unless an error or Ctrl-C came before that
        if undelivered is not None:
            undelivered.close()


def _config(common: Common, request: ProduceRequest) -> ProducerConfig:
    settings = common.settings if request.reads_stdin else common.fail_fast_settings
    if request.encoding.sides:
        settings = settings.without(RegistryConfig.names())
    settings = bound_delivery(settings.with_flags(request.flags), common.environment.limits)
    if request.is_transaction:
        made_up = f"kctl-produce-{system_runtime().entropy.token_bytes(8).hex()}"
        settings = settings.with_defaults({"transactional.id": made_up})
    settings = settings.with_defaults({"batch.size": BATCH_BYTES})
    config = settings.parse(ProducerConfig)
    common.note_ignored(config)
    if config.transactional_id is not None and request.undelivered is not None:
        raise click.UsageError(
            "--undelivered cannot be combined with transactional.id: an aborted transaction delivers no records."
        )
    return config


class _Producing:
    def __init__(
        self,
        common: Common,
        request: ProduceRequest,
        config: ProducerConfig,
        undelivered: UndeliveredFile | None,
        runtime: Runtime,
        producer: Producer,
    ) -> None:
        self._common = common
        self._request = request
        self._runtime = runtime
        self._inputs = Inputs(request.files, common.environment.stdin, request.form, config.max_request_size)
        self._outcomes = Outcomes(self._runtime.clock.now_ms, self._announce)
        self._announced: set[str] = set()
        """Causes that were already reported."""
        self._undelivered = undelivered
        self._in_hand: InputRecord | Block | None = None
        """Record or block that the producer has not accepted completely."""
        self._last_read: InputRecord | Block | None = None
        """Record or block that was read last, if more may follow."""
        self._unsent_bytes = 0
        """Unsent bytes of a block that --rate delays."""
        self._sent_before = 0
        """Number of accepted records before `_in_hand`."""
        self._ending: Ending | None = None
        self._is_closing = self._keeps_memory = False
        self._config = config
        self._budget = EndBudget(
            self._runtime.clock, close_ms=common.close_timeout_given_ms, default_close_ms=DEFAULT_CLOSE_MS
        )
        self._transactional_id = config.transactional_id
        self._is_open = self._is_committed = False
        self._started_at_ms = runtime.clock.now_ms()
        self._total_bytes = self._inputs.total_bytes
        self._encoding: Encoding | None = None
        if request.encoding.sides:
            from kctl.cli.decode.encoding import open_encoding  # the formats of values: wanted for --encode alone

            self._encoding = open_encoding(common, request.encoding)
        self._producer = producer
        self._sender = RecordSender(self._producer, self._outcomes, self._runtime.clock, config)
        self._status = SendStatus(
            common.environment,
            self._runtime.clock,
            self._runtime.driver,
            self._figures,
            wanted=self._wants_status(),
            keeps_echo=self._request.reads_stdin,
        )
        if common.notices is not None:
            common.notices.say = self._status.say
        common.environment.closing_notice.doing = self._lasting_end

    def run(self) -> int:
        try:
            self._attempt(self._send_all)
            if not isinstance(self._ending, KafkaError | Interrupted):
                self._attempt(self._deliver_all)
            result = self._close()
        except Interrupted as e:  # between two steps
            self._ending = e
            result = self._close()
        except BaseException:
            self._status.close()
            raise
        try:
            self._report_account(result)
        except Interrupted as e:
            self._ending = e
            self._report_account(result)
        return self._report_rest(result)

    def _attempt(self, step: Callable[[], object]) -> None:
        """Call `step`, and keep its exception. The first exception stays, unless a later one is Interrupted."""
        try:
            step()
        except (UndeliveredError, FlushTimeout):
            pass  # the account says it by partition
        except (KafkaError, CommandError, Interrupted) as e:
            if self._ending is None or isinstance(e, Interrupted):
                self._ending = e

    # --- sending ------------------------------------------------------------------------------------------------------

    def _send_all(self) -> None:
        request, clock, driver = self._request, self._runtime.clock, self._runtime.driver
        pace = None if request.per_second is None else Pace(request.per_second, clock.now_ms())
        waiter = driver.waiter()
        if self._transactional_id is not None:
            self._producer.init_transactions()
            self._producer.begin_transaction()
            self._is_open = True
        if self._inputs.are_blocks:
            for block in self._inputs.read_blocks():
                self._take(block)
                if self._stops():
                    return
                if pace is None:
                    self._send_block(block)
                elif not self._send_paced(block, pace):
                    return
                self._is_taken()
                self._keep_memory()
        else:
            for record in self._inputs.read():
                self._take(record)
                if self._stops():
                    return
                if pace is not None:
                    driver.wait(waiter, pace.reserve(clock.now_ms()))
                self._send_record(record)
                self._is_taken()
        self._last_read = None

    def _send_paced(self, block: Block, pace: Pace) -> bool:
        driver = self._runtime.driver
        waiter = driver.waiter()
        self._unsent_bytes = sum(map(block.row_bytes, range(len(block.values))))
        for row, record in enumerate(block.records()):
            if self._stops():
                return False
            driver.wait(waiter, pace.reserve(self._runtime.clock.now_ms()))
            self._send_record(record)
            self._unsent_bytes -= block.row_bytes(row)
            if self._outcomes.has_failed:
                self._report_failed()
        self._unsent_bytes = 0
        return True

    def _is_taken(self) -> None:
        """Forget the records in hand, which the producer accepted, and handle failed records."""
        self._in_hand = None
        if self._outcomes.has_failed:
            self._report_failed()

    def _take(self, read: InputRecord | Block) -> None:
        self._in_hand, self._sent_before, self._last_read = read, self._sender.sent, read

    def _stops(self) -> bool:
        """Return whether to stop reading, because delivery is hopeless and no file keeps failed records."""
        if self._undelivered is None or not self._outcomes.is_hopeless:
            return self._outcomes.is_hopeless
        self._report_failed()
        return bool(self._undelivered.error)

    def _keep_memory(self) -> None:
        if self._keeps_memory or self._inputs.progress.read_bytes < BULK_BYTES:
            return
        from kctl.cli.freed_memory import keep_freed_memory  # a few records do without

        self._keeps_memory = True
        keep_freed_memory()

    def _send_block(self, block: Block) -> None:
        request = self._request
        by_partition = request.keeps_partition and request.partition is None
        for part in block.parts(by_topic=request.topic is None, by_partition=by_partition):
            topic = request.topic or part.topic
            is_small = len(part.values) < min(FEW_ROWS, len(block.values))
            if topic is None or is_small:
                for record in islice(block.records(part.first), len(part.values)):
                    self._send_record(record)
            else:
                self._send_part(topic, block, part)

    def _send_part(self, topic: str, block: Block, part: BlockPart) -> None:
        request = self._request
        values, headers = part.values, part.headers
        if request.empty_is_null:
            values = [value or None for value in values]
        if request.headers:
            headers = [(*own, *request.headers) for own in headers or [()] * len(values)]
        partition = part.partition if request.partition is None else request.partition
        timestamps_ms = None if request.is_now else part.timestamps_ms
        try:
            self._sender.send_rows(topic, values, part.keys, partition, headers, timestamps_ms)
        except RecordTooLargeError as e:
            raise self._too_large(block.record(part.first + e.row), e) from e
        except KafkaError:
            raise
        except (TypeError, ValueError) as e:
            raise CommandError(ExitCode.DATA, f"{block.record(part.first).place}: {e}") from e

    def _value(self, record: InputRecord) -> bytes | None:
        return None if self._request.empty_is_null and not record.value else record.value

    def _headers(self, record: InputRecord) -> "tuple[Header, ...]":
        return record.headers + self._request.headers

    def _send_record(self, record: InputRecord) -> None:
        """Send one record. Blocks while memory is full or the topic is unknown."""
        request = self._request
        topic = request.topic or record.topic
        if topic is None:
            raise CommandError(
                ExitCode.DATA, f"cannot send {record.place}: the record has no topic (--topic-from-record)"
            )
        partition = request.partition
        if partition is None and request.keeps_partition:
            partition = record.partition
        if self._encoding is not None:
            record = self._encoding.encode(record, topic)
        timestamp_ms = None if request.is_now else record.timestamp_ms
        try:
            self._sender.send(topic, self._value(record), record.key, partition, self._headers(record), timestamp_ms)
        except RecordTooLargeError as e:
            raise self._too_large(record, e) from e
        except KafkaError:
            raise
        except (TypeError, ValueError) as e:
            raise CommandError(ExitCode.DATA, f"{record.place}: {e}") from e

    def _too_large(self, record: InputRecord, error: RecordTooLargeError) -> CommandError:
        """Return the error with the place of the record, which fails a transaction."""
        hint = "raise the limit with -X max.request.size=BYTES"
        if self._is_open:
            self._in_hand = None
        else:
            hint = f"{hint}. Later records were not sent"
        return CommandError(exit_code(error), f"{record.place}: {error}", hint)

    def _deliver_all(self) -> None:
        """Wait until all records are delivered. Then commit the transaction, unless a step failed."""
        budget = self._budget
        api_ms = api_timeout_ms(self._common.settings)
        if self._stops() and api_ms is not None and self._transactional_id is None:
            budget.end_by(max(self._started_at_ms, self._outcomes.delivered_at_ms or 0) + api_ms)
        budget.start_flush(self._config.delivery_timeout_ms)
        is_limited = budget.is_one
        if self._transactional_id is None:
            if not is_limited:  # else close() waits for them, and its errors report the timeout that was given
                self._producer.flush(budget.remaining_s)
        elif self._ending is None:
            self._producer.flush(budget.remaining_s)
            self._is_open = False  # a commit that was begun is never taken back
            max_block_s = self._config.max_block_ms / 1000
            self._producer.commit_transaction(min(max_block_s, budget.remaining_s) if is_limited else max_block_s)
            self._is_committed = True

    def _close(self) -> CloseResult:
        budget = self._budget
        budget.start_close()
        self._is_closing = True
        if self._is_open:
            self._attempt(lambda: self._producer.abort_transaction(budget.remaining_s))
        results: list[CloseResult] = []
        self._attempt(lambda: results.append(self._producer.close(budget.remaining_s)))
        if not results:  # interrupted by Ctrl-C, the second of which leaves at once; or a callback held the close up
            results.append(self._producer.close(budget.remaining_s))
        self._status.close()
        return results[0]

    def _lasting_end(self) -> str:
        """Return what an interrupted command waits for, with its timeout; empty if nothing is pending."""
        if not self._is_closing:
            return ""
        records = self._figures().waiting
        if not records and not self._is_open:
            return ""
        waiting = counted(records, "record")
        limit = duration_text(max(1, round(self._budget.remaining_s)) * 1000)
        if self._is_open:
            return f"waiting for up to {limit} (--close-timeout) to abort the transaction, {waiting} not acknowledged"
        return f"waiting for up to {limit} (--close-timeout) for brokers to acknowledge {waiting}"

    # --- what became of it --------------------------------------------------------------------------------------------

    def _announce(self, partition: TopicPartition, error: KafkaError) -> None:
        """Print the first failure of a partition immediately, except during the close."""
        if not self._is_closing and not self._common.quiet:
            cause = explain(error).message
            self._announced.add(cause)
            where = "" if str(partition) in cause else f"{partition}: "
            self._status.say(f"kctl produce: not delivered: {where}{cause}")

    def _report_failed(self) -> None:
        file = self._undelivered
        self._outcomes.pop_failed(None if file is None else file.write)
        if file is not None:
            file.flush()

    def _is_taken_back(self) -> bool:
        return self._transactional_id is not None and not self._is_committed

    def _transaction_outcome(self, result: CloseResult) -> str | None:
        if self._transactional_id is None:
            return None
        return "committed" if self._is_committed else result.transaction or "aborted"

    def _report_account(self, result: CloseResult) -> None:
        self._report_failed()
        self._report_created()
        report_account(
            self._common,
            result,
            oldest_ms=self._outcomes.oldest_ms,
            is_taken_back=self._is_taken_back(),
            announced=self._announced,
        )

    def _write_result(self, result: CloseResult) -> None:
        """Write the account to stdout if --output is given. Write errors are ignored if records failed."""
        if self._common.output is None:
            return
        listing = delivery_listing(result, self._transaction_outcome(result))
        try:
            write_listing(self._common.environment, self._common.output, listing)
        except (OutputClosed, CommandError):
            if self._ending is None and not not_delivered(result):
                raise

    def _report_rest(self, result: CloseResult) -> int:
        """Print the rest of the account. Return the exit code, or raise the exception that stopped the command."""
        is_taken_back = self._is_taken_back()
        self._write_result(result)
        throttled_ms = self._producer.metrics().throttle_time_ms
        if throttled_ms:
            self._common.say(f"kctl produce: throttled by a quota: brokers requested pauses of {throttled_ms} ms")
        self._report_in_hand(result.delivered + not_delivered(result))
        if (last := self._last_read) is not None:
            record = last if isinstance(last, InputRecord) else last.record(len(last.values) - 1)
            self._common.environment.say(
                f"kctl produce: no input after {record.place} was read"
                if self._inputs.are_blocks
                else f"kctl produce: no input after {record.place} was sent or saved, but more input was read"
            )
        self._report_file()
        ending = self._ending
        if is_taken_back and result.transaction is not None:
            ending = self._taken_back(result.transaction)
        is_cause = is_taken_back and isinstance(ending, CommandError)  # what failed then is its consequence
        if ending is not None and (isinstance(ending, Interrupted) or is_cause or not_delivered(result) == 0):
            raise ending
        if ending is not None:
            self._common.environment.say_failure(explain(ending))
        return account_code(result)

    def _taken_back(self, how: str) -> Ending | None:
        """Return the error of a command whose transaction is not committed, and print its state after an interrupt."""
        ending = self._ending
        if how == "aborted":
            cause = ending.cause if isinstance(ending, FatalTransactionError) else None
            if ending is None or not isinstance(cause, ProducerFencedError):
                return ending
            fenced = f"transaction {self._transactional_id} was aborted by a newer producer with this transactional.id"
            return CommandError(
                exit_code(ending), fenced, "send the whole input again after the newer producer has stopped"
            )
        what = "may be committed" if how == "unknown" else "is still open"
        text = f"transaction {self._transactional_id} {what}"
        if isinstance(ending, Interrupted):
            self._common.environment.say(
                f"kctl produce: {text}. The broker aborts open transactions after transaction.timeout.ms"
            )
            return ending
        why = "" if ending is None else f": {ending.waiting_for if isinstance(ending, KafkaTimeoutError) else ending}"
        return CommandError(
            ExitCode.CLOSE_TIMEOUT,
            f"{text}{why}",
            "wait for transaction.timeout.ms, after which the broker aborts open transactions",
        )

    def _report_created(self) -> None:
        for name, count in self._producer.created_topics.items():
            partitions = counted(count, "partition")
            self._common.say(f"kctl produce: note: topic {name} did not exist and was created with {partitions}")

    def _report_in_hand(self, accepted: int) -> None:
        """Print the first record that was read but not accepted. Write all such records to the file, if there is one.

        Args: accepted: number of accepted records, which may exceed the number of sent records after a signal.
        """
        in_hand, taken = self._in_hand, accepted - self._sent_before
        if in_hand is None or taken >= (1 if isinstance(in_hand, InputRecord) else len(in_hand.values)):
            return
        records = [in_hand] if isinstance(in_hand, InputRecord) else list(in_hand.records(taken))
        say = self._common.environment.say
        say(f"kctl produce: {records[0].place} and later records were NOT sent")
        if self._undelivered is None:
            return
        request = self._request
        cause = str(self._ending) if self._ending is not None else ""
        for record in records:
            topic, partition = request.topic or record.topic or "", record.partition
            value, headers = self._value(record), self._headers(record)
            self._undelivered.write(
                UndeliveredRecord(topic, partition, record.timestamp_ms, record.key, value, headers, cause)
            )

    def _report_file(self) -> None:
        file = self._undelivered
        if file is None:
            return
        file.flush()
        if not (file.records or file.error):
            return
        say = self._common.environment.say
        if file.error:
            say(f"kctl produce: only {file.records} records saved in --undelivered {file.name}: {file.error}")
            return
        records = counted(file.records, "record")
        say(f"kctl produce: {records} saved. Send the file with: kctl produce -i jsonl --topic-from-record {file.name}")

    # --- the status line ----------------------------------------------------------------------------------------------

    def _wants_status(self) -> bool:
        is_typed = self._request.reads_stdin and self._common.environment.stdin_is_tty
        return not self._common.quiet and not is_typed

    def _figures(self) -> SendFigures:
        delivered = self._outcomes.delivered
        waiting = max(0, self._sender.sent - delivered - self._outcomes.undelivered)
        return SendFigures(delivered, waiting, self._inputs.progress.read_bytes - self._unsent_bytes, self._total_bytes)
