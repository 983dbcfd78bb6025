"""The client for models that speak OpenAI's chat completions, at OpenAI's or at any other server."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from openai import AsyncOpenAI, DefaultAsyncHttpxClient
from pydantic_ai.models import Model
from pydantic_ai.models.openai import OpenAIChatModel
from pydantic_ai.profiles.openai import OpenAIModelProfile
from pydantic_ai.providers.openai import OpenAIProvider
from pydantic_ai.providers.openai_compatible import OpenAICompatibleProvider

from domain.roles.agents import ModelEntry

ADDRESS = "https://api.openai.com/v1"
"""Said here, so that no environment variable leads a key elsewhere."""

OTHERS = OpenAIModelProfile(openai_chat_supports_max_completion_tokens=False)
"""Servers that speak the same protocol know the limit of an answer by its older name."""


@asynccontextmanager
async def speaking(entry: ModelEntry, key: str, seconds: float) -> AsyncIterator[Model]:
    """The model, and its connections for as long as this lasts."""
    transport = DefaultAsyncHttpxClient(follow_redirects=False, timeout=seconds)
    address = entry.base_url or ADDRESS
    async with AsyncOpenAI(
        api_key=key, base_url=address, max_retries=0, timeout=seconds, http_client=transport
    ) as client:
        if entry.base_url is None:
            yield OpenAIChatModel(entry.model, provider=OpenAIProvider(openai_client=client))
        else:
            provider = OpenAICompatibleProvider("openai-compatible", openai_client=client, profile=OTHERS)
            yield OpenAIChatModel(entry.model, provider=provider)
