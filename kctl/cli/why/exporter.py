"""`--serve`: takes samples repeatedly, and serves the findings as metrics."""

import os

from kctl.cli.exit_codes import ExitCode
from kctl.cli.failures import CommandError, explain
from kctl.cli.options import Common
from kctl.cli.why.metrics import State, metrics_text
from kctl.cli.why.options import WhyOptions, find_budget
from kctl.cli.why.serve import MetricsServer
from kctl.client.admin import Admin
from kctl.client.clock import Timer
from kctl.client.errors import KafkaError
from kctl.client.runtime import Runtime
from kctl.why import Diagnosis, Gatherer, Look, Looks, Scope, Selection, Severity, Throttles, diagnose

RENEWAL_MS = 600_000
"""Age at which configs, quotas and sampled keys are refreshed: they need the most requests and seldom change."""


def diagnosis_of(looks: Looks, scopes: tuple[Scope, ...], options: WhyOptions) -> Diagnosis:
    return diagnose(looks, scopes, only=options.only, ignored=options.ignored, severity=Severity(options.severity))


def serve(
    common: Common,
    admin: Admin,
    runtime: Runtime,
    throttles: Throttles,
    selection: Selection,
    scopes: tuple[Scope, ...],
    options: WhyOptions,
    address: tuple[str, int],
) -> int:
    """Take a sample every `--interval` until a signal, compare it with the previous sample, and serve the findings.

    Raises: CommandError: kctl cannot listen on the address.
    """
    state = State(None, None, 0, "")
    try:
        server = MetricsServer(*address, lambda: metrics_text(state))
    except OSError as error:
        where = f"{address[0]}:{address[1]}"
        reason = error.strerror or str(error)
        if error.errno is not None and error.errno > 0:  # of a look-up it is below 0
            reason = os.strerror(error.errno)  # asyncio repeats the address in the text
        raise CommandError(ExitCode.USAGE, f"cannot listen on {where} (--serve): {reason}") from None
    host = f"[{address[0]}]" if ":" in address[0] else address[0]
    common.say(f"{common.environment.program}: serving http://{host}:{server.port}/metrics until Ctrl-C")
    wanted = selection._replace(has_ages=True)
    waiter = runtime.driver.waiter()
    before: Look | None = None
    renewed_at_ms = runtime.clock.now_ms()
    try:
        while True:
            next_at_ms = runtime.clock.start_ms() + options.interval_ms
            timer = Timer(runtime.clock, admin.config.default_api_timeout_ms)
            try:
                with admin.within(), admin.request_budget(find_budget(admin, options)):
                    is_renewed = runtime.clock.now_ms() - renewed_at_ms >= RENEWAL_MS
                    now = Gatherer(admin, runtime, timer, wanted, throttles).look(before, is_renewed=is_renewed)
                if is_renewed:
                    renewed_at_ms = runtime.clock.now_ms()
                timer.update()
                looks = Looks(now, before)
                state = State(looks, diagnosis_of(looks, scopes, options), timer.elapsed_ms, "")
                before = now
            except KafkaError as error:
                state = state._replace(error=explain(error).message)
                common.say(f"{common.environment.program}: {explain(error).message}")
            runtime.driver.wait(waiter, next_at_ms)
    finally:
        server.close()
