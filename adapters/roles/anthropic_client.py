"""The client for models that speak Anthropic's messages, at Anthropic's or at any other server."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from anthropic import AsyncAnthropic, DefaultAsyncHttpxClient
from pydantic_ai.models import Model
from pydantic_ai.models.anthropic import AnthropicModel
from pydantic_ai.providers.anthropic import AnthropicProvider

from domain.roles.agents import ModelEntry

ADDRESS = "https://api.anthropic.com"
"""Said here, so that no environment variable leads a key elsewhere."""


@asynccontextmanager
async def speaking(entry: ModelEntry, key: str, seconds: float) -> AsyncIterator[Model]:
    """The model, and its connections for as long as this lasts."""
    transport = DefaultAsyncHttpxClient(follow_redirects=False, timeout=seconds)
    address = entry.base_url or ADDRESS
    async with AsyncAnthropic(
        api_key=key,
        base_url=address,
        max_retries=0,
        timeout=seconds,
        http_client=transport,
        open_telemetry=False,
    ) as client:
        yield AnthropicModel(entry.model, provider=AnthropicProvider(anthropic_client=client))
