"""The official Python client against spexus over stdio: finds the newest version by itself, and with a handshake."""

import asyncio
import os
import re
import sys

from mcp import Client, StdioServerParameters


async def check(command, mode, era):
    server = StdioServerParameters(command=command, env=dict(os.environ))
    async with Client(server, mode=era) as client:
        names = [t.name for t in (await client.list_tools()).tools]
        assert "create_epic" in names, names
        made = await client.call_tool("create_epic", {"title": f"Made by Python, {era}"})
        assert not made.is_error, made
        found = re.search(r"EP-\d+", str(made)).group(0)
        read = await client.read_resource(f"epic://{found}")
        assert "Made by Python" in read.contents[0].text, read
        print(f"ok: Python mcp over stdio ({mode}), {era}, {client.protocol_version}")


async def main(command, mode):
    for era in ("auto", "legacy"):
        await check(command, mode, era)


asyncio.run(main(*sys.argv[1:]))
