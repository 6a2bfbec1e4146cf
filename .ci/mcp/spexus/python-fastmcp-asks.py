"""FastMCP's client with a person, a model and folders behind it: spexus asks them over stdio and HTTP.

Run by .ci/steps/60-spexus-clients with the command to start, the URL, a token and the name of the mode.
"""

import asyncio
import os
import sys

from fastmcp import Client
from fastmcp.client.elicitation import ElicitResult
from fastmcp.client.transports import StdioTransport, StreamableHttpTransport


class Behind:
    """Whoever is behind a host: agrees to everything unless told otherwise, and remembers what was asked."""

    def __init__(self):
        self.asked, self.agrees = [], True

    async def person(self, message, response_type, params, context):
        self.asked.append(message)
        if not self.agrees:
            return ElicitResult(action="decline")
        fields = params.requested_schema["properties"].items()
        return ElicitResult(action="accept", content={name: self.fill(field) for name, field in fields})

    def fill(self, field):
        if field.get("enum"):
            return field["enum"][0]
        return True if field.get("type") == "boolean" else "Said by a person"

    async def model(self, messages, params, context):
        self.asked.append(f"{len(messages)} messages")
        return "Split it in two."

    async def roots(self, context):
        self.asked.append("roots")
        return ["file:///project"]


async def check(transport):
    behind = Behind()
    client = Client(
        transport, elicitation_handler=behind.person, sampling_handler=behind.model, roots=behind.roots
    )
    async with client:

        async def call(tool, **arguments):
            result = await client.call_tool(tool, arguments, raise_on_error=False)
            return result.structured_content

        # What the model left out, the person adds.
        made = (await call("create_epic"))["item"]
        assert made["title"] == "Said by a person", made
        epic = made["reference_id"]
        await call("create_user_story", epic_id=epic, title="A story")
        # One digit too many: the person says which was meant.
        found = (await call("get_item", id=f"{epic}7"))["item"]
        assert found["reference_id"] == epic, found
        # A prompt runs with the model of the client.
        said = await call("run_prompt", name="decompose_epic", arguments={"epic_id": epic})
        assert said["ran"] and said["text"] == "Split it in two.", said
        behind.agrees = False
        kept = await call("delete_item", id=epic)
        assert kept["error"]["refusal"]["name"] == "DELETION_BLOCKED", kept
        behind.agrees = True
        gone = await call("delete_item", id=epic)
        assert len(gone["items"]) == 1, gone
        questions = [asked for asked in behind.asked if asked != "roots"]
        assert len(questions) == 5, questions
        assert "missing" in questions[0] and f"{epic}7" in questions[1], questions
        assert "messages" in questions[2] and "Delete?" in questions[3], questions


async def main(command, url, token, mode):
    await check(StdioTransport(command=command, args=[], env=dict(os.environ)))
    await check(StreamableHttpTransport(url, headers={"Authorization": f"Bearer {token}"}))
    print(f"ok: FastMCP answers questions over stdio ({mode}) and HTTP")


asyncio.run(main(*sys.argv[1:]))
