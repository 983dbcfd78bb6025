"""Spans, for whoever collects OpenTelemetry traces: a span a round, and within it a span for each try of an activity.

Imported only while traces are on: the packages are the extra `countersign[otel]`. Where spans go to and what else
concerns the export, OpenTelemetry's own variables (`OTEL_*`) say. No output, text or path is put on a span: ids,
outcomes and codes only, and of an exception its type.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from opentelemetry import context, trace
from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.trace.export import BatchSpanProcessor
from opentelemetry.trace.propagation.tracecontext import TraceContextTextMapPropagator
from temporalio import activity, workflow
from temporalio.client import Interceptor as ClientInterceptor
from temporalio.client import OutboundInterceptor, StartWorkflowInput, WorkflowHandle
from temporalio.contrib.opentelemetry import OpenTelemetryPlugin, ReplaySafeTracerProvider, create_tracer_provider
from temporalio.plugin import SimplePlugin
from temporalio.worker import (
    ActivityInboundInterceptor,
    ExecuteActivityInput,
    ExecuteWorkflowInput,
    Interceptor,
    WorkflowInboundInterceptor,
    WorkflowInterceptorClassInput,
)

from domain.checks import BaseOutcome, CheckResult
from domain.messages import CheckInput, RoundInput, RoundResult
from entrypoints.observers import place_of

SERVICE = "countersign"
PREFIX = "countersign."
LAST_SPANS_SECONDS = 3.0


def start() -> None:
    """Begin to export spans in the background; `stop` sends what is left."""
    named = {} if "OTEL_SERVICE_NAME" in os.environ else {"service.name": SERVICE}
    provider = create_tracer_provider(resource=Resource.create(named))
    provider.add_span_processor(BatchSpanProcessor(OTLPSpanExporter()))
    trace.set_tracer_provider(provider)


def stop() -> None:
    """Send the spans that wait; a collector that does not take them within `LAST_SPANS_SECONDS` goes without."""
    provider = trace.get_tracer_provider()
    if isinstance(provider, ReplaySafeTracerProvider):
        last = threading.Thread(target=provider.shutdown, daemon=True)  # by itself it tries for half a minute
        last.start()
        last.join(LAST_SPANS_SECONDS)


def plugins() -> list[SimplePlugin]:
    """For a client, and so for its workers. The SDK's own hands the context on, from the caller down to activities."""
    return [
        SimplePlugin("countersign.caller", interceptors=[_Caller()]),
        OpenTelemetryPlugin(),
        SimplePlugin("countersign.spans", interceptors=[_Spans()]),
    ]


class _Caller(ClientInterceptor):
    """Rounds that a command starts belong to the trace that `TRACEPARENT` names, as a CI job sets it."""

    def intercept_client(self, next: OutboundInterceptor) -> OutboundInterceptor:
        return _CallerOutbound(next)


class _CallerOutbound(OutboundInterceptor):
    async def start_workflow(self, input: StartWorkflowInput) -> WorkflowHandle[Any, Any]:
        carrier = {
            name: os.environ[name.upper()] for name in ("traceparent", "tracestate") if name.upper() in os.environ
        }
        token = context.attach(TraceContextTextMapPropagator().extract(carrier))
        try:
            return await super().start_workflow(input)
        finally:
            context.detach(token)


class _Spans(Interceptor):
    def intercept_activity(self, next: ActivityInboundInterceptor) -> ActivityInboundInterceptor:
        return _ActivitySpans(next)

    def workflow_interceptor_class(
        self,
        input: WorkflowInterceptorClassInput,  # noqa: ARG002 - the base class names it
    ) -> type[WorkflowInboundInterceptor]:
        return _RoundSpans


class _RoundSpans(WorkflowInboundInterceptor):
    async def execute_workflow(self, input: ExecuteWorkflowInput) -> Any:
        """The span has the round's own times, also when another worker has taken it over."""
        request = input.args[0] if input.args else None
        if not isinstance(request, RoundInput):
            return await super().execute_workflow(input)
        attributes = {**_place(request.workflow_id), PREFIX + "run_id": workflow.info().run_id}
        with _span(f"round {request.session}/{request.todo}/{request.attempt}", attributes) as span:
            result = await super().execute_workflow(input)
            if isinstance(result, RoundResult):
                outcome = {"outcome": result.decision.outcome.value, "verdict": result.decision.verdict}
                span.set_attributes({PREFIX + name: value for name, value in outcome.items()})
            return result


class _ActivitySpans(ActivityInboundInterceptor):
    async def execute_activity(self, input: ExecuteActivityInput) -> Any:
        info = activity.info()
        request = input.args[0] if input.args else None
        attributes: dict[str, str | int] = {**_place(info.workflow_id or ""), PREFIX + "activity_try": info.attempt}
        name = info.activity_type
        if isinstance(request, CheckInput):
            name = f"check {request.item.id}" + (" on the base" if name == "check.run_on_base" else "")
            attributes |= {PREFIX + "check": request.item.id, PREFIX + "type": request.item.criterion.type}
        with _span(name, attributes) as span:
            result = await super().execute_activity(input)
            if isinstance(result, CheckResult | BaseOutcome):
                span.set_attributes({PREFIX + "outcome": result.outcome.value, PREFIX + "code": result.code})
            return result


def _place(workflow_id: str) -> dict[str, str | int]:
    return {PREFIX + name: value for name, value in place_of(workflow_id).items()}


@contextmanager
def _span(name: str, attributes: Mapping[str, str | int]) -> Iterator[trace.Span]:
    """An exception makes it an error by the exception's type; the message might have anything in it."""
    tracer = trace.get_tracer(SERVICE)
    with tracer.start_as_current_span(
        name, attributes=dict(attributes), record_exception=False, set_status_on_exception=False
    ) as span:
        try:
            yield span
        except BaseException as error:
            span.set_status(trace.Status(trace.StatusCode.ERROR, type(error).__name__))
            raise
