"""What a worker does with the user's script: run it up to its ``fit``, then serve trials inside that call."""

from __future__ import annotations

import contextlib
import os
import sys
import time
from collections.abc import Callable
from typing import NoReturn

from autotune.measure.channel import Channel
from autotune.measure.fit import Fit
from autotune.measure.protocol import Message
from autotune.measure.spec import WorkerSpec
from autotune.measure.trials import Trials
from autotune.workload import callbacks, describe, functions, lint, policy, script, seeds, state
from autotune.workload.capture import CapturedFit, FitPatch, fit_sites
from autotune.workload.data import Feed
from autotune.workload.effects import EffectAfterFit, Effects, relative
from autotune.workload.place import UserCode, out_of_memory, summary


class Session:
    """One worker's work.

    Args:
        channel: Connection to the parent.
        spec: What to do.
        user: Knows the user's files.
        changed_environment: Gives the variables that the script changed although they are read at import time.
    """

    def __init__(
        self, channel: Channel, spec: WorkerSpec, user: UserCode, changed_environment: Callable[[], dict[str, str]]
    ) -> None:
        self._channel = channel
        self._spec = spec
        self._user = user
        self._changed_environment = changed_environment
        self._policy_calls: list[policy.PolicyCall] = []
        self._effects = Effects((os.path.dirname(os.path.abspath(spec.log_path)),))
        self._fit = FitPatch(user, spec.fit, self._serve)
        self._fit.after_fit = lambda: self._effects.block_from_now(EffectAfterFit)

    def run_script(self) -> None:
        """Runs the script; tells the parent how it ended where it never reached the wanted ``fit``."""
        seeds.fix_start()
        seeds.shift(self._spec.seed)
        self._policy_calls = policy.set_policy(self._spec.policy, self._user)
        try:
            script.run_as_main(self._spec.script, self._spec.target, self._spec.arguments)
            if not self._fit.seen and (both := functions.offered()):
                functions.fit_from(*both)
        except EffectAfterFit as effect:
            self._ended(f"it writes or sends ({effect}) after fit {len(self._fit.seen)}")
        except SystemExit as stop:
            if self._fit.seen:
                self._ended("it calls sys.exit")
            else:
                self._failed(
                    "exit", f"it calls sys.exit({'' if stop.code is None else repr(stop.code)}) before any fit", stop
                )
        except Exception as error:
            if self._fit.seen and self._spec.fit == 0:
                self._ended(f"{type(error).__name__}: {summary(error)}")
            else:
                self._failed("error", f"{type(error).__name__}: {summary(error)}", error)
        else:
            self._ended("")

    def _ended(self, why: str) -> None:
        if not self._fresh_needed():
            self._channel.send("ended", fits=self._fit.seen, why=why, loops=loops_of_its_own())

    def _failed(self, kind: str, reason: str, error: BaseException) -> None:
        if not self._fresh_needed():
            if isinstance(error, EOFError):
                reason += " (it reads standard input, which is empty in trials)"
            self._channel.send(
                "failed",
                kind=kind,
                reason=reason,
                traceback=self._user.traceback(error),
                line=self._user.line_of(error),
            )

    def _fresh_needed(self) -> bool:
        changed = self._changed_environment()
        if changed:
            self._channel.send("fresh_needed", environment=changed)
        return bool(changed)

    def _serve(self, call: CapturedFit) -> NoReturn:
        """Serves trials inside the captured ``fit`` and ends the process: nothing after ``fit`` runs."""
        status = 1
        try:
            self._fit.remove()
            self._effects.stop_watching()
            if not self._fresh_needed():
                self._serve_trials(call)
            status = 0
        except BaseException as error:
            kind = "out_of_memory" if out_of_memory(error) else "fit"
            self._channel.send(
                "failed",
                kind=kind,
                reason=f"{type(error).__name__}: {summary(error)}",
                traceback=self._user.traceback(error),
                line=self._user.line_of(error) or call.location,
            )
        finally:
            for stream in (sys.stdout, sys.stderr):
                with contextlib.suppress(Exception):
                    stream.flush()
            os._exit(status)

    def _serve_trials(self, call: CapturedFit) -> None:
        started = time.monotonic()
        script_seed = seeds.global_seed()
        seeds.seed_fit(script_seed, self._spec.seed)
        if not call.model.compiled:
            raise ValueError("You must call `compile()` before using the model.")
        feed = Feed(call.arguments)
        describe.build(call.model, feed.first_batch)
        model_state = state.ModelState(call.model)
        sorted_callbacks = callbacks.sort(call.arguments.get("callbacks"))
        described = self._describe(call, feed, model_state, sorted_callbacks)
        on = Fit(
            channel=self._channel,
            spec=self._spec,
            call=call,
            feed=feed,
            state=model_state,
            plain_fit=self._fit.plain,
            callbacks=sorted_callbacks,
            effects=self._effects,
            user=self._user,
            seed_fit=lambda: seeds.seed_fit(script_seed, self._spec.seed),
            metric=described["workload"]["metric"],
        )
        self._channel.send("captured", **described, setup_s=time.monotonic() - started)
        trials = Trials(on)
        while True:
            command = self._channel.next()
            if command["op"] == "exit":
                return
            trials.serve(command)

    def _describe(
        self, call: CapturedFit, feed: Feed, model_state: state.ModelState, sorted_callbacks: callbacks.Sorted
    ) -> Message:
        model, fit = call.model, call.arguments
        described = describe.layers(model)
        validated = feed.validation is not None
        name, direction = describe.metric(
            model, self._spec.metric, callbacks.monitored(fit.get("callbacks")), validated=validated
        )
        fixed = describe.fixed_batch(model) or feed.fixed_reason
        strategy = getattr(model, "_distribute_strategy", None)
        sixteen, arithmetic = describe.sixteen_bit_layers(described)
        optimizer = getattr(model, "optimizer", None)
        workload = {
            "target": self._spec.target,
            "arguments": list(self._spec.arguments),
            "fits": [{**seen, "selected": seen["index"] == call.index} for seen in self._fit.seen],
            "model": str(model.name),
            "parameters": int(model.count_params()),
            "layers": described,
            "optimizer": None if optimizer is None else type(getattr(optimizer, "inner_optimizer", optimizer)).__name__,
            "learning_rate": state.learning_rate(model),
            "schedule": state.scheduled(model) or callbacks.has_schedule(sorted_callbacks.kept),
            "loss": describe.loss_name(model),
            "data": feed.kind,
            "samples_per_epoch": feed.samples,
            "steps_per_epoch": feed.steps,
            "epochs": call.epochs,
            "batch_size": feed.batch_size,
            "batch_fixed_reason": fixed,
            "validation": None
            if not validated
            else "validation_split"
            if fit.get("validation_split")
            else "validation_data",
            "metric": name,
            "metric_direction": direction,
            "metric_source": "validation" if validated else "training",
            "jit_compile": bool(model.jit_compile),
            "steps_per_execution": int(model.steps_per_execution),
            "loss_scaled": self._spec.policy != "mixed_float16" and type(optimizer).__name__ == "LossScaleOptimizer",
            "own_train_step": describe.own_train_step(model),
            "distribution": None if strategy is None else type(strategy).__name__,
            "replicas": 1 if strategy is None else int(strategy.num_replicas_in_sync),
            "callbacks_kept": [type(c).__name__ for c in sorted_callbacks.kept],
            "callbacks_left_out": list(sorted_callbacks.left_out),
            "tf32": describe.tf32(),
            "intra_op_threads": describe.intra_op_threads(),
        }
        findings = lint.check(model, fit, feed.first_batch, self._user, self._policy_calls)
        findings += lint.script_writes(
            relative(list(self._effects.written), self._user.folder), list(self._effects.sent), self._spec.script
        )
        return {
            "workload": workload,
            "findings": findings,
            "sites": fit_sites(self._user),
            "fit_index": call.index,
            "again": feed.again,
            "validation_batches": feed.validation_batches,
            "sixteen_bit_layers": sixteen,
            "arithmetic_layers": arithmetic,
            "weights_hash": model_state.weights_hash,
            # The parent asks the first worker alone what the run is about; whole arrays take a while.
            "data_hash": feed.content() if (self._spec.policy, self._spec.seed) == ("float32", 0) else None,
        }


def loops_of_its_own() -> bool:
    """Whether the script applied an optimizer itself: a training loop without ``fit``."""
    import gc

    import keras

    return any(isinstance(o, keras.optimizers.Optimizer) and getattr(o, "built", False) for o in gc.get_objects())
