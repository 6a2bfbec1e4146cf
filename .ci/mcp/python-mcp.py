"""The official Python client: it finds the version by itself, shakes hands, or is told to do without.

Left to itself it tries without a handshake and falls back to one when it gets no answer within ten seconds, which happens
on a busy machine; so only the other two modes say which version must come out."""

import asyncio
import sys

from mcp import Client, StdioServerParameters


MODES = {"auto": None, "legacy": "2025-11-25", "2026-07-28": "2026-07-28"}


async def check(server, mode, tool, arguments, expect):
    async with Client(server, mode=mode) as client:
        names = [t.name for t in (await client.list_tools()).tools]
        assert tool in names, names
        result = await client.call_tool(tool, arguments)
        assert expect in result.content[0].text, result
        assert client.protocol_version == MODES[mode] or MODES[mode] is None, client.protocol_version
        print(f"ok: Python mcp, {mode}, {client.protocol_version}")


async def main(command, url):
    for mode in MODES:
        pipe = StdioServerParameters(command=command)
        await check(pipe, mode, "echo", {"text": "hello"}, "hello")
        await check(url, mode, "test_simple_text", {}, "simple text")


asyncio.run(main(*sys.argv[1:]))
