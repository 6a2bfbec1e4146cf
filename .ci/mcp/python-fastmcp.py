"""FastMCP's client over stdio and HTTP, with a handshake and without."""

import asyncio
import sys

from fastmcp import Client
from fastmcp.client.transports import StdioTransport


async def check(server, mode, tool, arguments, expect):
    async with Client(server, mode=mode) as client:
        assert tool in [t.name for t in await client.list_tools()]
        result = await client.call_tool(tool, arguments)
        assert expect in result.content[0].text, result


async def main(command, url):
    for mode in ("legacy", "2026-07-28"):
        pipe = StdioTransport(command=command, args=[])
        await check(pipe, mode, "echo_task", {"text": "hello"}, "hello")
        await check(url, mode, "test_simple_text", {}, "simple text")
        print(f"ok: FastMCP, {mode}, over stdio and HTTP")


asyncio.run(main(*sys.argv[1:]))
