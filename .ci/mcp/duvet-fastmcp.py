"""FastMCP's client drives `duvet mcp` on this repository: every tool, the tree, the guide."""

import asyncio
import json
import pathlib
import sys

from fastmcp import Client
from fastmcp.client.transports import StdioTransport

CITATION = "//= specs/duvet.md#fix\n//# Unless told to write, the command MUST show the difference and not write any file."


async def main(duvet):
    async with Client(StdioTransport(command=duvet, args=["mcp"])) as client:
        assert len(await client.list_tools()) == 10
        assert "duvet" in [prompt.name for prompt in await client.list_prompts()]

        async def call(tool, **arguments):
            return (await client.call_tool(tool, arguments)).structured_content

        async def read(uri):
            return json.loads((await client.read_resource(uri))[0].text)

        work = await call("get_prioritized_requirements", limit=3)
        assert len(work["requirements"]) == 3 and work["total"] > 50, work
        assert (await call("validate_citation", citation=CITATION))["valid"]
        found = await call("search_requirements", query="show the difference")
        identifier = found["requirements"][0]["identifier"]
        status = await call("get_requirement_status", req_identifier=identifier)
        assert status["status"] == "done", status
        assert "requirements" in await call("list_uncited_requirements")
        assert "citations" in await call("list_invalid_citations", limit=5)
        assert (await call("resolve_spec_id", url="specs/duvet.md"))["spec_id"] == "specs-duvet-md"

        requirement = await read(f"duvet:///requirements/{identifier}")
        place = requirement["citations"][0]
        context = await call("get_citation_context", citation_id=place, context_lines=2)
        assert any("//= specs/duvet.md#fix" in line for line in context["context"]), context
        for uri in [
            "duvet:///specifications",
            "duvet:///specifications/specs-duvet-md",
            "duvet:///specifications/specs-duvet-md/sections",
            "duvet:///specifications/specs-duvet-md/sections/fix",
            "duvet:///specifications/specs-duvet-md/sections/fix/requirements",
            f"duvet://{requirement['full_path']}",
            f"duvet://{requirement['full_path']}/citations",
            f"duvet://{requirement['full_path']}/citations/{place}",
            "duvet:///requirements",
            "duvet:///citations",
        ]:
            assert await read(uri), uri
    print("ok: FastMCP, ten tools and the whole tree")
    await inside_its_roots(duvet)


async def inside_its_roots(duvet):
    """A client that works in one folder reads files there, and nowhere else."""
    here = pathlib.Path.cwd().as_uri()
    async with Client(StdioTransport(command=duvet, args=["mcp"]), roots=[f"{here}/specs"]) as client:
        text = (await client.read_resource(f"{here}/specs/duvet.md"))[0].text
        assert text.startswith("# Traceability"), text
        try:
            await client.read_resource(f"{here}/README.md")
        except Exception as error:  # every version of the client has an error of its own
            assert "outside the roots" in str(error), error
        else:
            raise AssertionError("a file outside the client's roots was read")
    print("ok: FastMCP, held to its own roots")


asyncio.run(main(*sys.argv[1:]))
