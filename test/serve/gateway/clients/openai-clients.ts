import type OpenAI from "openai";
import { answerTo, type Client, DEPOT, INPUT, MOST_REQUESTS, QUESTION, STOCK } from "./task.ts";

type Item = OpenAI.Responses.ResponseInputItem;
type Call = OpenAI.Responses.ResponseFunctionToolCall & { readonly caller?: unknown };

const FUNCTION = { type: "function", parameters: INPUT, strict: true };
const TOOLS = [
  { type: "programmatic_tool_calling" },
  { ...FUNCTION, name: "depot", description: DEPOT, allowed_callers: ["programmatic"] },
  { ...FUNCTION, name: "stock", description: STOCK },
] as unknown as OpenAI.Responses.Tool[];

/** The official package, with the responses kept by the server, or all items by its user. */
export const responses =
  (store: boolean): Client =>
  async (task) => {
    const client = task.gateway.openai();
    let input: Item[] = [{ role: "user", content: QUESTION }];
    let previous: string | undefined;
    for (let requests = 0; requests < MOST_REQUESTS; requests += 1) {
      const body = {
        model: task.model,
        store,
        tools: TOOLS,
        reasoning: { summary: "auto" as const },
        include: ["reasoning.encrypted_content" as const],
        input,
        previous_response_id: previous,
      };
      const response = task.isStreamed
        ? await client.responses.stream(body).finalResponse()
        : await client.responses.create(body);
      const calls = response.output.flatMap((item) => (item.type === "function_call" ? [item as Call] : []));
      if (calls.length === 0) return response.output_text;
      const outputs = calls.map(({ call_id, name, arguments: text, caller }) => ({
        type: "function_call_output" as const,
        call_id,
        output: answerTo(task, name, JSON.parse(text)),
        caller,
      })) as Item[];
      input = store ? outputs : [...input, ...(response.output as Item[]), ...outputs];
      if (store) previous = response.id;
    }
    throw new Error("The conversation has no end.");
  };
