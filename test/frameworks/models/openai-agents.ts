import { type Model, type ModelRequest, type ModelResponse, Usage } from "@openai/agents";
import { nextCall } from "./next-call.ts";

/** A model of OpenAI Agents that makes one call, goes on with programs that wait, and answers by the text of the last result. */
export function agentsModel(
  input: unknown,
  name = "run_program",
): Model & { readonly requests: readonly ModelRequest[]; readonly results: readonly string[] } {
  const requests: ModelRequest[] = [];
  const results: string[] = [];
  return {
    requests,
    results,
    getResponse: async (request): Promise<ModelResponse> => {
      requests.push(request);
      const last = typeof request.input === "string" ? undefined : request.input.at(-1);
      const output = last?.type === "function_call_result" ? last.output : undefined;
      if (output !== undefined)
        results.push(typeof output === "object" && "text" in output ? output.text : JSON.stringify(output));
      const call = nextCall(results, name, input);
      const status = "completed";
      const text = { type: "output_text" as const, text: results.at(-1) ?? "" };
      return {
        usage: new Usage(),
        output: call
          ? [{ type: "function_call", callId: `${requests.length}`, status, name: call.name, arguments: call.input }]
          : [{ type: "message", role: "assistant", status, content: [text] }],
      };
    },
    getStreamedResponse: () => {
      throw new Error("This model does not stream.");
    },
  };
}
