"""Drives a server with the client that openapi-python-client made of its document: create, read, update against a
revision, batch, search, totals, delete. Every shape used here comes from the document."""

import os

from spexus_client import AuthenticatedClient
from spexus_client.api.batch import run_batch
from spexus_client.api.epics import create_epic, delete_epic, get_epic, list_epic, update_epic
from spexus_client.api.reports import report_gaps
from spexus_client.api.search import search
from spexus_client.models import BatchInput, ItemPatch, NewItem

client = AuthenticatedClient(
    base_url=os.environ["SPEXUS_URL"], token=os.environ["SPEXUS_TOKEN"], raise_on_unexpected_status=True
)


def answered(response, status):
    assert response.status_code == status, (response.status_code, response.content)
    return response.parsed


with client:
    made = create_epic.sync_detailed(client=client, body=NewItem.from_dict({"title": "Sign in with a passkey"}))
    epic = answered(made, 201)
    assert made.headers["location"].endswith(str(epic.id)) and made.headers["etag"] == '"1"', made.headers

    read = get_epic.sync_detailed(id=epic.reference_id, client=client)
    assert answered(read, 200).title == "Sign in with a passkey"
    known = get_epic.sync_detailed(id=epic.reference_id, client=client, if_none_match=read.headers["etag"])
    assert known.status_code == 304, known.status_code

    patch = ItemPatch.from_dict({"title": "Sign in, quickly"})
    changed = answered(update_epic.sync_detailed(id=epic.reference_id, client=client, body=patch, if_match='"1"'), 200)
    assert changed.rev == 2, changed
    stale = update_epic.sync_detailed(id=epic.reference_id, client=client, body=patch, if_match='"1"')
    assert stale.status_code == 412, stale.status_code

    batch = BatchInput.from_dict(
        {
            "operations": [
                {"op": "create", "kind": "user_story", "parent": epic.reference_id, "title": "By phone", "ref": "s"},
                {"op": "comment", "item": "@s", "content": "Which phones?"},
            ]
        }
    )
    done = answered(run_batch.sync_detailed(client=client, body=batch, idempotency_key="story-1"), 200)
    assert [outcome.op for outcome in done.results] == ["create", "comment"], done

    found = answered(search.sync_detailed(client=client, query="phone"), 200)
    assert found.total_count == len(found.data) > 0, found
    listed = answered(list_epic.sync_detailed(client=client, limit=1), 200)
    assert listed.total_count == 1 and listed.data[0].id == epic.id, listed
    gaps = answered(report_gaps.sync_detailed(client=client), 200)
    assert gaps.total_count > 0, gaps

    answered(delete_epic.sync_detailed(id=epic.reference_id, client=client, force=True), 200)
    gone = get_epic.sync_detailed(id=epic.reference_id, client=client)
    assert gone.status_code == 404, gone.status_code

print("the generated client did all of it")
