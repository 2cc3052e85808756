"""Add the rail to an app that exists: three lines in its config, nothing in its code.

Run:  python examples/add_to_app.py
"""

from nemoguardrails import LLMRails, RailsConfig

from evidencerails.testing import ReplayServer

APP = """
models:
  - type: main
    engine: openai
    model: gpt-4o-mini
    parameters: {base_url: BASE_URL, api_key: none}
"""

RAIL = """
import_paths: [evidencerails/plugin]
rails: {output: {flows: [self check hallucination]}}
custom_data: {evidencerails: {activation: always}}
"""


def answer(config: str, question: str) -> str:
    """What the user of an app with this config reads."""
    rails = LLMRails(RailsConfig.from_content(yaml_content=config))
    return rails.generate(messages=[{"role": "user", "content": question}])["content"]


def main() -> None:
    """Ask the same question of the app without and with the rail."""
    # A local stand-in plays a model that makes a year up, and another one each time it is asked again. With a model of
    # your own, leave the server and the line `parameters:` away.
    with ReplayServer() as server:
        server.reply(
            ["It opened in 1875.", "It opened in 1911.", "It opened in 1954."], when="When did the Halden bridge open?"
        )
        app = APP.replace("BASE_URL", server.base_url)
        print("without the rail:", answer(app, "When did the Halden bridge open?"))
        server.reset()
        server.reply(
            ["It opened in 1875.", "It opened in 1911.", "It opened in 1954."], when="When did the Halden bridge open?"
        )
        print("with the rail:   ", answer(app + RAIL, "When did the Halden bridge open?"))


if __name__ == "__main__":
    main()
