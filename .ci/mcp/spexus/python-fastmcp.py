"""FastMCP's client against spexus over stdio and HTTP."""

import asyncio
import os
import sys

from fastmcp import Client
from fastmcp.client.transports import StdioTransport, StreamableHttpTransport


async def check(server):
    async with Client(server) as client:
        assert "create_epic" in [t.name for t in await client.list_tools()]
        made = await client.call_tool("create_epic", {"title": "Made by FastMCP"})
        assert "EP-" in str(made), made
        found = await client.call_tool("search_global", {"query": "FastMCP"})
        assert "EP-" in str(found), found


async def main(command, url, token, mode):
    await check(StdioTransport(command=command, args=[], env=dict(os.environ)))
    await check(StreamableHttpTransport(url, headers={"Authorization": f"Bearer {token}"}))
    print(f"ok: FastMCP over stdio ({mode}) and HTTP")


asyncio.run(main(*sys.argv[1:]))
