"""A rail of your own: call the action, read the verdict, say it your way.

Run:  python examples/custom_flow.py
"""

from nemoguardrails import LLMRails, RailsConfig

from evidencerails.testing import ReplayServer

YAML = """
models:
  - type: main
    engine: openai
    model: gpt-4o-mini
    parameters: {base_url: BASE_URL, api_key: none}
import_paths: [evidencerails/plugin]
rails: {output: {flows: [look it up again]}}
"""

COLANG = """
define bot ask for patience
  "I would have told you something my sources do not say. Let me look it up again."

define subflow look it up again
  $verdict = execute check_grounding
  if $verdict
    bot ask for patience
    stop
"""

SOURCE = "The Halden bridge opened in 1932. It is 412 metres long."


def main() -> None:
    """One answer that the source supports, one that it contradicts, with the report of each."""
    with ReplayServer() as server:
        server.say("The Halden bridge is 412 metres long.", "The Halden bridge is 512 metres long.")
        yaml = YAML.replace("BASE_URL", server.base_url)
        rails = LLMRails(RailsConfig.from_content(colang_content=COLANG, yaml_content=yaml))
        for _ in range(2):
            messages = [
                {"role": "context", "content": {"evidence": SOURCE}},
                {"role": "user", "content": "How long is the Halden bridge?"},
            ]
            result = rails.generate(messages=messages, options={"output_vars": ["hallucination_report"]})
            report = result.output_data["hallucination_report"]
            print(f"bot: {result.response[-1]['content']}")
            print(f"     {report['status']}: {', '.join(claim['label'] for claim in report['claims'])}")


if __name__ == "__main__":
    main()
