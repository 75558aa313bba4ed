"""A program whose job has no end: what `kctl pipeline` shows of a job, without Spark; run by test_terminals.py."""

from itertools import count

from kctl.cli.environment import system_environment
from kctl.cli.view.status import ProgressStatus
from kctl.client.network.system import system_runtime
from kctl.pipeline.running import JobProgress

TASKS, RECORDS_A_TASK = 1000, 20
STEP_MS = 100


def main() -> None:
    """Report progress until Ctrl-C."""
    runtime = system_runtime()
    waiter = runtime.driver.waiter()
    status = ProgressStatus(system_environment()._replace(program="kctl pipeline"), wanted=True)
    try:
        for done in count():
            records = done * RECORDS_A_TASK
            lag = max(0, TASKS * RECORDS_A_TASK - records)
            status.on_job(JobProgress("exporting", min(done, TASKS), 2, TASKS, records=records, lag=lag))
            runtime.driver.wait(waiter, runtime.clock.now_ms() + STEP_MS)
    except KeyboardInterrupt:
        status.close()


if __name__ == "__main__":
    main()
