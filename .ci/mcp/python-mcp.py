"""The official Python client, which finds the newest version by itself, and with a handshake."""

import asyncio
import sys

from mcp import Client, StdioServerParameters


async def check(server, mode, tool, arguments, expect):
    async with Client(server, mode=mode) as client:
        names = [t.name for t in (await client.list_tools()).tools]
        assert tool in names, names
        result = await client.call_tool(tool, arguments)
        assert expect in result.content[0].text, result
        print(f"ok: Python mcp, {mode}, {client.protocol_version}")


async def main(command, url):
    for mode in ("auto", "legacy"):
        pipe = StdioServerParameters(command=command)
        await check(pipe, mode, "echo", {"text": "hello"}, "hello")
        await check(url, mode, "test_simple_text", {}, "simple text")


asyncio.run(main(*sys.argv[1:]))
