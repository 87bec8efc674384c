import { type Model, type ModelRequest, type ModelResponse, Usage } from "@openai/agents";

/** A model of OpenAI Agents that calls `run_program` once, and answers by the text of its result. */
export function agentsModel(
  input: unknown,
): Model & { readonly requests: readonly ModelRequest[]; readonly results: readonly string[] } {
  const requests: ModelRequest[] = [];
  const results: string[] = [];
  return {
    requests,
    results,
    getResponse: async (request): Promise<ModelResponse> => {
      requests.push(request);
      const last = typeof request.input === "string" ? undefined : request.input.at(-1);
      if (last?.type !== "function_call_result")
        return {
          usage: new Usage(),
          output: [{ type: "function_call", callId: "1", name: "run_program", arguments: JSON.stringify(input) }],
        };
      const { output } = last;
      const text = typeof output === "object" && "text" in output ? output.text : JSON.stringify(output);
      results.push(text);
      return {
        usage: new Usage(),
        output: [{ type: "message", role: "assistant", status: "completed", content: [{ type: "output_text", text }] }],
      };
    },
    getStreamedResponse: () => {
      throw new Error("This model does not stream.");
    },
  };
}
