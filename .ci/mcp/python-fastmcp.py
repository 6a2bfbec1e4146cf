"""FastMCP's client over stdio and HTTP."""

import asyncio
import sys

from fastmcp import Client
from fastmcp.client.transports import StdioTransport


async def check(server, tool, arguments, expect):
    async with Client(server) as client:
        assert tool in [t.name for t in await client.list_tools()]
        result = await client.call_tool(tool, arguments)
        assert expect in result.content[0].text, result


async def main(command, url):
    await check(StdioTransport(command=command, args=[]), "echo_task", {"text": "hello"}, "hello")
    await check(url, "test_simple_text", {}, "simple text")
    print("ok: FastMCP over stdio and HTTP")


asyncio.run(main(*sys.argv[1:]))
