import type { DynamicStructuredTool } from "@langchain/core/tools";
import { PortcullisError } from "../errors.ts";
import type { LoopTool } from "./program-tool.ts";

/** The types of LangChain take lists that may be written to. */
interface LangChainSchema {
  type: "object";
  properties: Record<string, { type: string; description: string }>;
  required: string[];
  additionalProperties: false;
}

/** What a tool gives back: its text, or a `ToolMessage` where it was given a tool call. LangChain's own type of it is `any`. */
// oxlint-disable-next-line typescript/no-explicit-any
type LangChainOutput = any;

/**
 * A tool of LangChain. A call has to be answered by LangChain's own classes, so the work is done by a tool of the
 * installed `@langchain/core`, which is made at the first call: it checks the input, tells callbacks, and answers a tool
 * call by a `ToolMessage`. It rejects if the tool failed; `ToolNode` makes a message with the status "error" of that.
 */
export class LangChainTool {
  readonly name: string;
  readonly description: string;
  readonly schema: LangChainSchema;
  readonly returnDirect: boolean = false;
  /** By these four LangChain recognises a tool. */
  readonly lc_namespace: string[] = ["langchain", "tools"];
  readonly lc_id: string[];
  readonly lc_runnable: boolean = true;
  readonly lc_serializable: boolean = false;
  readonly #tool: LoopTool;
  #opened: Promise<DynamicStructuredTool> | undefined;

  constructor(tool: LoopTool) {
    this.name = tool.name;
    this.description = tool.description;
    this.schema = { ...tool.schema, properties: { ...tool.schema.properties }, required: [...tool.schema.required] };
    this.lc_id = [...this.lc_namespace, tool.name];
    this.#tool = tool;
  }

  async invoke(input: unknown, config?: object): Promise<LangChainOutput> {
    return (await this.#open()).invoke(input as never, config);
  }

  async call(input: unknown, config?: object): Promise<LangChainOutput> {
    return this.invoke(input, config);
  }

  async batch(inputs: unknown[], config?: object | object[], options?: object): Promise<LangChainOutput[]> {
    return (await this.#open()).batch(inputs as never[], config as object, options);
  }

  async stream(input: unknown, config?: object): Promise<ReadableStream> {
    return (await this.#open()).stream(input, config);
  }

  async *transform(inputs: AsyncGenerator, config: object): AsyncGenerator<LangChainOutput> {
    yield* (await this.#open()).transform(inputs as AsyncGenerator<never>, config);
  }

  getName(suffix = ""): string {
    return `${this.name}${suffix}`;
  }

  #open(): Promise<DynamicStructuredTool> {
    this.#opened ??= openTool(this, this.#tool);
    return this.#opened;
  }
}

async function openTool({ name, description, schema }: LangChainTool, tool: LoopTool): Promise<DynamicStructuredTool> {
  const { DynamicStructuredTool: Tool } = await import("@langchain/core/tools").catch((cause: unknown): never => {
    throw new PortcullisError(
      "option_invalid",
      `asTool("langchain"): the package @langchain/core is needed: npm install @langchain/core`,
      { cause },
    );
  });
  return new Tool({
    name,
    description,
    schema,
    func: (input, manager, config) =>
      tool.run(input, {
        signal: config?.signal,
        // What listeners throw is LangChain's to log, and does not end the tool.
        onProgress: ({ text }) => void manager?.handleToolEvent(text).catch(() => {}),
      }),
  });
}
