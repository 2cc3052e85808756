"""A LangChain chain that checks its own answers: retrieve, answer, `| guard`.

Run:  python examples/langchain_chain.py
"""

from langchain_core.documents import Document
from langchain_core.output_parsers import StrOutputParser
from langchain_core.prompts import ChatPromptTemplate
from langchain_core.runnables import RunnablePassthrough
from langchain_openai import ChatOpenAI

from evidencerails import Guard
from evidencerails.errors import ResponseBlockedError
from evidencerails.testing import ReplayServer

PROMPT = ChatPromptTemplate.from_template("Answer from the context.\n\n{context}\n\n{question}")


def retrieve(inputs: dict[str, str]) -> list[Document]:
    """Stands for a retriever of your own."""
    return [Document("The Halden bridge opened in 1932. It is 412 metres long.", metadata={"source": "halden.md"})]


def main() -> None:
    """The same chain with each way to act on a verdict."""
    with ReplayServer() as server:  # a local stand-in for a model
        server.reply("The Halden bridge is 412 metres long.", when="How long is it?")
        server.reply("The Halden bridge opened in 1911.", when="When did it open?")
        model = ChatOpenAI(model="gpt-4o-mini", base_url=server.base_url, api_key="none")
        answer = PROMPT | model | StrOutputParser()
        rag = RunnablePassthrough.assign(context=retrieve) | RunnablePassthrough.assign(answer=answer)
        guard = Guard()

        chain = rag | guard.as_runnable()
        for question in ("How long is it?", "When did it open?"):
            print(f"{question:18}", chain.invoke({"question": question})["answer"])

        pieces = chain.pick("answer").stream({"question": "How long is it?"})
        print("streamed:         ", "|".join(pieces))

        report = (rag | guard.as_runnable(on="return")).invoke({"question": "When did it open?"})[
            "hallucination_report"
        ]
        print("report:           ", report.status, report.claims[0].label, report.claims[0].evidence[0].source)

        try:
            (rag | guard.as_runnable(on="raise")).invoke({"question": "When did it open?"})
        except ResponseBlockedError as error:
            print("raised:           ", error)


if __name__ == "__main__":
    main()
