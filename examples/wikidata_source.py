"""Wikidata as a source of the check `knowledge`: do the species that an answer names exist?

The search is Wikidata's own (`wbsearchentities`). A name counts as found if a label or an alias is that very name, as
`match.text` says: of "Panthera leo" the label is "lion". Here a server of our own answers, with replies in the form of
Wikidata's, shortened. `SETTINGS` as they stand ask Wikidata itself.

Run:  python examples/wikidata_source.py
"""

import json
import threading
from http.server import BaseHTTPRequestHandler, HTTPServer
from urllib.parse import parse_qs, urlsplit

from evidencerails import Guard

WIKIDATA = "https://www.wikidata.org"
SETTINGS = {
    "checks": ["knowledge"],
    "knowledge": {
        "sources": {
            "wikidata": {
                "kind": "http",
                "url": WIKIDATA + "/w/api.php?action=wbsearchentities&format=json&language=en&search={value}",
                "results": "search",
                "field": "match.text",
            }
        },
        "entities": {"species": {"sources": ["wikidata"], "pattern": r"\*(?P<value>[A-Z][a-z]+ [a-z]{3,})\*"}},
    },
}
REPLIES = {  # what is searched -> the matches
    "Panthera leo": [
        {"id": "Q140", "label": "lion", "match": {"type": "alias", "language": "en", "text": "Panthera leo"}}
    ],
    "Panthera nivalis": [],
}
ANSWERS = (
    "Lions (*Panthera leo*) live in prides.",
    "The ghost cat of the Pamirs (*Panthera nivalis*) was first described in 1903.",
    "House cats (*Felis catus*) sleep for 12 hours a day.",
)


class Recorded(BaseHTTPRequestHandler):
    """Plays Wikidata; to what nobody has searched for it answers that there were too many requests."""

    def do_GET(self) -> None:
        searched = parse_qs(urlsplit(self.path).query)["search"][0]
        matches = REPLIES.get(searched)
        self.send_response(429 if matches is None else 200)
        self.end_headers()
        self.wfile.write(json.dumps({"searchinfo": {"search": searched}, "search": matches, "success": 1}).encode())

    def log_message(self, *_: object) -> None:
        """Nothing: the output is the example's."""


def settings_for(server: HTTPServer) -> dict:
    """The settings with our server in Wikidata's place, which is on this machine."""
    settings = json.loads(json.dumps(SETTINGS).replace(WIKIDATA, f"http://127.0.0.1:{server.server_port}"))
    settings["knowledge"]["sources"]["wikidata"]["allow_private"] = True
    return settings


def main() -> None:
    """Each answer, and what the look-up says."""
    with HTTPServer(("127.0.0.1", 0), Recorded) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        guard = Guard(settings_for(server))
        for answer in ANSWERS:
            report = guard.check_sync(answer)
            print(f"{report.status}: {answer}")
            for entity in report.checks["knowledge"].details["entities"]:
                print(
                    f"  {entity['text']}: {entity['outcome']}" + (f", {entity['reason']}" if entity["reason"] else "")
                )
        server.shutdown()


if __name__ == "__main__":
    main()
