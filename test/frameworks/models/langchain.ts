import { AIMessage } from "@langchain/core/messages";
import { fakeModel } from "@langchain/core/testing";
import { INPUT } from "./question.ts";

/** A model of LangChain that calls `run_program` once, and answers by the text of its result. */
export const model = fakeModel()
  .respondWithTools([{ name: "run_program", args: INPUT, id: "1" }])
  .respond((messages) => new AIMessage(messages.at(-1)?.content as string));
