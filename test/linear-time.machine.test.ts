import { tmpdir } from "node:os";
import { format as knownFormats } from "@cfworker/json-schema";
import { expect, test } from "vitest";
import { FrameDecoder } from "../bridge/wire.ts";
import {
  applyTurnRecord,
  type HistoryContent,
  ConversationState,
} from "../src/conversations/from-journal/conversation-state.ts";
import type { JournalRecord } from "../src/journal/record.ts";
import { AnthropicStream } from "../src/models/anthropic/reply.ts";
import { ChatStream } from "../src/models/openai/chat/reply.ts";
import { boundedFetch } from "../src/models/provider/bounded-fetch.ts";
import { flatSchema } from "../src/models/gemini/flat-schema.ts";
import { hasCycle } from "../src/models/anthropic/request.ts";
import { failure } from "../src/models/provider/provider-failure.ts";
import { cleanText } from "../src/base/texts.ts";
import { hintFor } from "../src/executions/output/hint.ts";
import { findNamed } from "../src/journal/redaction/redact-secrets.ts";
import { findKeys } from "../src/journal/redaction/redact-secrets.ts";
import { cutMiddle, exactJson, LineReader, nearest, OutputTail, parsedJson, asUntrusted } from "../src/base/index.ts";
import { stubOf } from "../src/executions/output/large-value.ts";
import { UNSHOWN } from "./models/converse.ts";
import { parseProgram } from "../src/executions/prepare/thread/parse-program.ts";
import { prepare } from "../src/executions/prepare/prepare.ts";
import { preparePython } from "../src/executions/prepare/thread/prepare-text.ts";
import { stripFence } from "../src/executions/prepare/thread/strip-fence.ts";
import { failureLine } from "../src/cli/failure.ts";
import { parseAbsoluteTarget, parseAuthority } from "../src/sandboxes/docker/egress/request-target.ts";
import { canonicalHostName } from "../src/sandboxes/docker/egress/names/allow-list.ts";
import { countTokens } from "../src/tools/count-tokens.ts";
import { fitsFormat } from "../src/tools/json-schema/check-scalar.ts";
import type { JsonSchema } from "../src/tools/json-schema/json-schema.ts";
import { jsonSchema, validate } from "../src/tools/schema.ts";
import { readMarkdown } from "../src/conversations/files/agent-file.ts";
import { Glob } from "../src/sources/workspace/glob.ts";
import { LineTest } from "../src/sources/workspace/grep-files.ts";
import { linesOf } from "../src/sources/workspace/text-lines.ts";
import { Workspace } from "../src/sources/workspace/workspace.ts";
import { applyRecord as applyTurn, ExecutionState } from "../src/executions/from-journal/execution-state.ts";
import { CallHistory } from "../src/executions/from-journal/call-history.ts";
import { readTranscript } from "../src/conversations/from-journal/parse-message.ts";
import { callIn } from "../src/frameworks/ai-sdk.ts";
import { EarlierCalls, type EarlierReader } from "../src/gate/reuse/earlier-calls.ts";
import { parseRecord } from "../src/journal/reading/parse-records.ts";
import { NO_USAGE } from "../src/models/model.ts";
import { UniqueIds } from "../src/models/turn/call-ids.ts";
import { withoutNulls } from "../src/models/openai/openai-strict-schema.ts";
import { HistoryReader } from "../src/serve/gateway/surface/history-reader.ts";
import { responsesSurface } from "../src/serve/gateway/surface/openai/responses-surface.ts";
import { numbersOfOneBucket } from "./support/one-bucket.ts";
import { processorMs, slowness } from "./support/slowness.ts";
import { ToolSet } from "../src/tools/tool-set.ts";
import { sourceOf, specOf } from "./sources/openapi/api-server.ts";
import { ServerText } from "../src/sources/mcp/clean-credentials.ts";
import { headersOf } from "../src/sources/mcp/wire/param-headers.ts";
import { commentLine } from "../src/tools/declarations/one-line.ts";
import { typeText } from "../src/tools/declarations/type-text.ts";

/** What an input is made of, and what reads it. Sizes are those at which a square would take half a second or more. */
interface Case {
  readonly size: number;
  readonly make: (size: number) => unknown;
  readonly run: (input: never) => unknown;
}

const text = (make: (size: number) => string, run: (text: string) => unknown, size = 30_000): Case => ({
  size,
  make,
  run,
});
const checked = (schema: JsonSchema) => {
  const compiled = jsonSchema(schema);
  return (value: unknown) => validate(compiled, value);
};
const REFERRED = {
  $defs: { id: { anyOf: [{ type: "integer" }] } },
  prefixItems: [{ $ref: "#/$defs/id" }],
  items: { $ref: "#/$defs/id" },
};

const NO_TOOLS = new ToolSet([]);
const fault = (message: string, excerpt?: string) => ({
  name: "Error",
  message,
  ...(excerpt === undefined ? {} : { excerpt }),
});
const hinted = (message: string) => hintFor(fault(message, "tools.a.b"), NO_TOOLS);
const failed = (detail: string) =>
  failure("server_failed", { provider: "A", keyVariable: "B", key: "abcdefghij", requests: { attempts: 1 } }, detail);
const streamed = (events: readonly unknown[]) => {
  const stream = new AnthropicStream(UNSHOWN);
  for (const event of events) stream.take(event);
  return stream.reply;
};
const times = <Value>(count: number, make: (index: number) => Value) =>
  Array.from({ length: count }, (_, index) => make(index));

async function fetched(chunks: readonly Uint8Array[]): Promise<number> {
  const body = new ReadableStream<Uint8Array>({
    start(controller) {
      for (const chunk of chunks) controller.enqueue(chunk);
      controller.close();
    },
  });
  const fetch = boundedFetch({ timeoutMs: 60_000, fetch: async () => new Response(body) });
  const response = await fetch("http://localhost");
  let longest = 0;
  for await (const chunk of response.body as AsyncIterable<Uint8Array>) longest = Math.max(longest, chunk.byteLength);
  return longest;
}

/** Reads a conversation's records, each with what its text holds. */
function conversationOf(records: readonly (readonly [object, object?])[]): ConversationState {
  const state = new ConversationState();
  for (const [record, content] of records)
    applyTurnRecord(state, record as JournalRecord, content as HistoryContent | undefined);
  return state;
}

/** Texts that V8 gives one hash: they have one length, which is all that it looks at. */
const longTexts = (count: number) => times(count, (index) => `${"x".repeat(16_400)}${10_000 + index}`);

/** What a reader makes of an input; the error with which it refuses it. */
function refusable(read: () => unknown): unknown {
  try {
    return read();
  } catch (error) {
    return error;
  }
}

const ALLOWED = { type: "call", tool: "a", caller: "programmatic", decision: "allowed", at: 1 } as const;
const TRANSCRIPT = { format: 1, task: "", model: "m", ending: { type: "cancelled" } };
const turnWith = (id: string) => ({
  turn: {
    type: "turn",
    text: "",
    calls: [{ type: "tool_call", id, tool: "a", caller: "direct", inputText: "{}" }],
    hosted: [],
    end: { type: "called" },
    usage: NO_USAGE,
  },
  results: [{ callId: id, text: "", isJson: false, isError: false, provenance: { tool: "a", bytes: 0 } }],
});

/** Reads the fields of a file, or refuses them. */
function readField(source: string): unknown {
  try {
    return readMarkdown("a.md", source);
  } catch (error) {
    return error;
  }
}

/** A text that fits each format that is checked. */
const FITTING: Readonly<Record<string, string>> = {
  date: "2026-02-28",
  "date-time": "2026-02-28T12:00:00.5Z",
  duration: "P1Y2M3DT4H5M6S",
  email: "a.b@example.com",
  hostname: "a-b.example.com",
  ipv4: "192.168.1.12",
  ipv6: "2001:db8::8a2e:370:7334",
  "json-pointer": "/a~0b/c",
  "json-pointer-uri-fragment": "#/a%20b/c",
  regex: "(?:a|b)*[c-e]+",
  "relative-json-pointer": "1/a~0b",
  time: "12:00:00.5+01:00",
  uri: "http://user@example.com:80/a%20b?c#d",
  "uri-reference": "../a/b?c#d",
  "uri-template": "http://example.com/{a,b}/{c*}",
  url: "http://user@example.com:80/a?b#c",
  uuid: "123e4567-e89b-12d3-a456-426614174000",
};

const CASES: Readonly<Record<string, Case>> = {
  "JSON of a source with a long number behind many values": text(
    (size) => `[${'"\\"",'.repeat(size)}${"1234567890123456789, ".repeat(size)}1]`,
    exactJson,
    200_000,
  ),
  "messages that a conversation's user has said in a row": {
    size: 6000,
    make: (n) =>
      times(n, () => [{ type: "message", from: "user", message: "", at: 1 }, { said: [{ by: "user", message: "a" }] }]),
    run: conversationOf,
  },
  "decisions that a conversation remembers": {
    size: 6000,
    make: (n) => [
      [{ type: "tools", tools: [{ name: "t", digest: "d" }], shown: "", at: 1 }],
      [
        { type: "message", from: "model", message: "", at: 1 },
        { turn: { calls: times(n, (id) => ({ type: "tool_call", id: String(id), tool: "t", inputText: "{}" })) } },
      ],
      ...times(n, (id) => [{ type: "call", call: String(id), tool: "t", decision: "held", at: 1 }]),
      ...times(n, (id) => [{ type: "decision", call: String(id), allow: true, remember: "execution", at: 1 }]),
    ],
    run: conversationOf,
  },
  "quotes of an agent's file": text((n) => `---\nname: '${"''".repeat(n)}\n---`, readField, 100_000),
  "spaces before an item of an agent's file": text((n) => `---\ntools:\n${" ".repeat(n)}x\n---`, readField, 100_000),
  "lines of an agent's file": text((n) => `---\ntools:\n${"-\n".repeat(n)}`, readField, 100_000),
  "blank lines of an agent's file": text((n) => `---\ndescription: |\n${"  \n".repeat(n)}---`, readField, 100_000),
  "places of a pattern of files": text(
    (n) => "**/".repeat(n),
    (pattern) => new Glob(pattern).matches("a/".repeat(100)),
    160,
  ),
  "places of a path, at patterns that exclude folders": text(
    (n) => "a/".repeat(n),
    (path) => new Workspace(tmpdir(), [new Glob("docs/**/old/**/x*"), new Glob("**/secret/*.pem")]).place(path),
    1000,
  ),
  "a long text that is looked for in a file": {
    size: 500,
    make: (n) => [`${"a".repeat(n / 2)}b${"a".repeat(n / 2 - 1)}`, Buffer.alloc(n * 2000, "a")],
    run: ([pattern, bytes]: [string, Buffer]) => new LineTest(pattern).mayFit(bytes),
  },
  "lines of a file": text(
    (n) => "\n\r\n".repeat(n),
    (lines) => [...linesOf(Buffer.from(lines))].length,
    100_000,
  ),
  "spaces behind a fence": text(
    (n) => `\`\`\`${" ".repeat(n)}\`\nreturn 1`,
    (source) => stripFence(source, "javascript"),
  ),
  "spaces behind a fence in prose": text(
    (n) => `So:\n\`\`\`${" .".repeat(n)}\`\nreturn 1`,
    (source) => stripFence(source, "javascript"),
  ),
  "a long word behind a fence": text(
    (n) => `\`\`\`${"a".repeat(n)}\``,
    (source) => stripFence(source, "python"),
  ),
  "fences that nothing closes": text(
    (n) => "````\n```\n".repeat(n),
    (source) => stripFence(source, "javascript"),
  ),
  "a regular expression of groups with one name": text(
    (n) => `return /${times(n, () => 0).reduce((inner) => `(?:${inner}|(?<a>))`, "(?<a>)")}/`,
    (source) => prepare(source),
    100,
  ),
  "regular expressions of groups with one name": text(
    (n) => `return [${"/(?<a>)|(?<a>)|(?:(?<a>)|(?<a>))/, ".repeat(n)}]`,
    (source) => prepare(source),
    800,
  ),
  "a regular expression of nested alternatives": text(
    (n) => `return /${"(?:a|".repeat(n)}${")".repeat(n)}/v`,
    (source) => prepare(source),
    4000,
  ),
  "a regular expression of nested classes": text(
    (n) => `return /${"[".repeat(n)}a${"]".repeat(n)}/v`,
    (source) => prepare(source),
    8000,
  ),
  "fences of Python that nothing closes": text(
    (n) => '````py\n"""\n'.repeat(n),
    (source) => stripFence(source, "python"),
  ),
  "lists of exports that share their end": text(
    (n) => `${"}".repeat(n)}${"export{".repeat(n)}}`,
    (source) => parseProgram(source),
    4000,
  ),
  "lists of exports": text(
    (n) => "export{a};".repeat(n),
    (source) => parseProgram(source),
    4000,
  ),
  "escaped quotes of Python": text((n) => `${'\\"'.repeat(n)}\\`, preparePython),
  "triple quotes of Python": text((n) => `${'\\"""'.repeat(n)}\\`, preparePython),
  "apostrophes of Python": text((n) => `${"\\'".repeat(n)}\\`, preparePython),
  "comments of Python": text((n) => "#".repeat(n) + "\n#".repeat(n), preparePython),
  "comparisons that may be types": text(
    (n) => "a<b,".repeat(n),
    (source) => parseProgram(source),
    8000,
  ),
  "import statements beside types": text(
    (n) => `let x: number = ;\nimport a${" from".repeat(n)}`,
    (source) => parseProgram(source),
    6000,
  ),
  "imports of types that end nowhere": text(
    (n) => "import{}".repeat(n),
    (source) => parseProgram(source),
    4000,
  ),
  "a path of a framework's parameters": {
    size: 40_000,
    make: (n) =>
      specOf({
        ["/:a".repeat(n)]: {
          get: { operationId: "call", parameters: [{ name: "a", in: "path", required: true }] },
        },
      }),
    run: (spec) => sourceOf(spec),
  },
  "exports of lists": text(
    (n) => `let a;${"export{a};".repeat(n)}`,
    (source) => parseProgram(source),
    6000,
  ),
  "lines that may be Python or prose": text(
    (n) => `a b;\n${"for a in".repeat(n)}\n${"word ".repeat(n)}`,
    (source) => parseProgram(source),
    6000,
  ),
  "spaces in an import beside types": text(
    (n) => `let x: number = ;\nimport${" ".repeat(n)}type${" ".repeat(n)}`,
    (source) => parseProgram(source),
    15_000,
  ),
  "runs of U+FFFD": text(
    (n) => `${"\ufffd".repeat(n)}${"a".repeat(4 * n)}`,
    (long) => cutMiddle(long, Math.floor(long.length * 1.3)),
    60_000,
  ),
  "runs of what is written out": text((n) => "\u200b".repeat(n), cleanText, 60_000),
  "line breaks of other systems": text((n) => "\r".repeat(n), cleanText, 60_000),
  "a value within values": {
    size: 40,
    make: (n) => times(n, () => 0).reduce<unknown>((inner) => [inner], "x".repeat(400_000)),
    run: (value) => stubOf({ value, bytes: 400_000, counts: new Map() }, 8192, "less"),
  },
  "a fault that names a field": text(
    (n) => `Cannot read properties of undefined (reading '${"a".repeat(n)}')`,
    hinted,
    200_000,
  ),
  "a fault of a field that is iterated": text((n) => `${"a.".repeat(n)} is not iterable`, hinted, 200_000),
  "a fault of a field with a long name": text((n) => `${"a".repeat(n)} is not iterable`, hinted, 200_000),
  "a fault of dots": text((n) => `tools.${"a.".repeat(n)} is not a function`, hinted, 200_000),
  "a fault of words": text((n) => " is not".repeat(n), hinted, 200_000),
  "a fault of Python": text((n) => "'coroutine' and ".repeat(n), hinted, 100_000),
  "a long name that no tool has": text(
    (n) => "a".repeat(n),
    (name) => nearest(name, ["aaaa", "b"]),
    100_000,
  ),
  "spaces in what was thrown": text(
    (n) => `a${" ".repeat(n)}b`,
    (message) => failureLine(new Error(message)),
    60_000,
  ),
  "a description of commas": text(
    (n) => `${",".repeat(n)}${"a".repeat(40)}`,
    (long) => commentLine(long, long.length - 10),
    60_000,
  ),
  "a description of spaces": text(
    (n) => " \u200b".repeat(n),
    (long) => commentLine(long, 100),
    60_000,
  ),
  "one letter": text(
    (n) => "a".repeat(n),
    (long) => countTokens(long),
    30_000,
  ),
  "letters in no order": text(
    (n) => times(n, (index) => String.fromCodePoint(97 + (((index * index) % 7919) % 26))).join(""),
    (long) => countTokens(long),
    30_000,
  ),
  "a provider's words": text((n) => "sk.".repeat(n), failed, 100_000),
  "a provider's spaces": text((n) => " ".repeat(n), failed, 100_000),
  "an absolute target": text((n) => `http://${"a:".repeat(n)}`, parseAbsoluteTarget, 100_000),
  "an authority": text(
    (n) => ":".repeat(n),
    (long) => parseAuthority(long),
    100_000,
  ),
  "a host's name": text((n) => `${"a.".repeat(n)}a`, canonicalHostName, 100_000),
  "a frame that comes byte by byte": {
    size: 60_000,
    make: (n) => times(n, (index) => Buffer.from(index === 0 ? [0, 1 + (n >> 16), (n >> 8) & 255, n & 255] : "a")),
    run: (chunks: readonly Buffer[]) => {
      const decoder = new FrameDecoder(1 << 24);
      for (const chunk of chunks) decoder.push(chunk);
    },
  },
  "last words that come byte by byte": {
    size: 200_000,
    make: (n) => n,
    run: (count: number) => {
      const words = new OutputTail(8192);
      for (let index = 0; index < count; index += 1) words.add(Buffer.from("a"));
      return words.text;
    },
  },
  "a line of a server that comes in small parts": {
    size: 40_000,
    make: (n) => n,
    run: (count: number) => {
      let length = 0;
      const reader = new LineReader(
        () => 1 << 30,
        (line) => (length += line.length),
        () => {},
      );
      const part = Buffer.from("x".repeat(64));
      for (let index = 0; index < count; index += 1) reader.push(part);
      reader.push(Buffer.from("\n"));
      return length;
    },
  },
  "lines of a server that come at once": text(
    (n) => "\n".repeat(n),
    (long) => {
      let lines = 0;
      new LineReader(
        () => 1 << 30,
        () => (lines += 1),
        () => {},
      ).push(Buffer.from(long));
      return lines;
    },
    300_000,
  ),
  "a server's text that nearly has a credential": text(
    (n) => "aaaaaaab".repeat(n / 8),
    (long) => new ServerText(["a".repeat(1000)]).quote(long),
    120_000,
  ),
  "a value that is sent as a header": text(
    (n) => `${" x".repeat(n)}\u00e9`,
    (long) => headersOf([{ path: ["a"], name: "A" }], { a: long }),
    200_000,
  ),
  "a stream of citations": {
    size: 10_000,
    make: (n) => [
      { type: "content_block_start", index: 0, content_block: { type: "text", text: "" } },
      ...times(n, (index) => ({
        type: "content_block_delta",
        index: 0,
        delta: { type: "citations_delta", citation: index },
      })),
    ],
    run: streamed,
  },
  "a stream of other fields": {
    size: 3000,
    make: (n) => times(n, (index) => ({ type: "message_delta", delta: { [`a${index}`]: 1 } })),
    run: streamed,
  },
  "a block that is stopped often": {
    size: 2000,
    make: (n) => [
      { type: "content_block_start", index: 0, content_block: { type: "tool_use" } },
      {
        type: "content_block_delta",
        index: 0,
        delta: { type: "input_json_delta", partial_json: `[${"1,".repeat(n)}1]` },
      },
      ...times(n, () => ({ type: "content_block_stop", index: 0 })),
    ],
    run: streamed,
  },
  "an event that comes byte by byte": { size: 20_000, make: (n) => times(n, () => new Uint8Array([97])), run: fetched },
  "thousands of events at once": { size: 100_000, make: (n) => [new Uint8Array(n).fill(10)], run: fetched },
  "references that double": {
    size: 200,
    make: (n) => ({
      $ref: "#/$defs/d0",
      $defs: Object.fromEntries(
        times(n, (index) => [
          `d${index}`,
          index === n - 1
            ? { type: "number" }
            : { anyOf: [{ $ref: `#/$defs/d${index + 1}` }, { $ref: `#/$defs/d${index + 1}` }] },
        ]),
      ),
    }),
    run: (schema: JsonSchema) => [
      checked(schema)("x"),
      typeText(schema, { descriptionLength: 9, depth: 9, constraints: true }),
      hasCycle(schema),
      flatSchema(schema),
    ],
  },
  "a tree that is tried twice at each level": {
    size: 40,
    make: (n) => times(n, () => 0).reduce<unknown>((inner) => ({ a: inner }), {}),
    run: checked({
      anyOf: [
        { properties: { a: { $ref: "#" } }, required: ["b"] },
        { properties: { a: { $ref: "#" } }, required: ["c"] },
      ],
    }),
  },
  ...Object.fromEntries(
    Object.entries<JsonSchema>({
      uniqueItems: { uniqueItems: true },
      $ref: REFERRED,
      enum: { items: { enum: [1] } },
    }).map(([word, schema]) => [
      `numbers that V8 puts into one bucket, ${word}`,
      { size: 6000, make: numbersOfOneBucket, run: checked(schema) },
    ]),
  ),
  "numbers of one bucket in a schema": {
    size: 6000,
    make: (n) => ({ enum: numbersOfOneBucket(n) }),
    run: (schema: JsonSchema) => validate(jsonSchema(schema), 1),
  },
  "places of blocks of one bucket": {
    size: 20_000,
    make: numbersOfOneBucket,
    run: (places: readonly number[]) =>
      streamed(
        places.map((index) => ({ type: "content_block_start", index, content_block: { type: "text", text: "" } })),
      ),
  },
  "indexes of calls of one bucket": {
    size: 20_000,
    make: numbersOfOneBucket,
    run: (indexes: readonly number[]) => {
      const stream = new ChatStream(UNSHOWN);
      for (const index of indexes) {
        const call = { index, id: `c${index}`, type: "function", function: { name: "a", arguments: "{}" } };
        stream.take({ choices: [{ index: 0, delta: { tool_calls: [call] } }] });
      }
      return stream.reply;
    },
  },
  ...Object.fromEntries(
    Object.entries<(texts: readonly string[]) => unknown>({
      "answers to calls before a request": (ids) => {
        const history = new HistoryReader(true);
        return refusable(() =>
          ids.map((id) => history.answer(id, { text: asUntrusted(""), isError: false, parts: [] }, "")),
        );
      },
      "references to items": (ids) =>
        new Set(responsesSurface.references?.({ input: ids.map((id) => ({ type: "item_reference", id })) })),
      "calls in the records of a journal": (ids) => {
        const calls = new CallHistory();
        return refusable(() => ids.map((call) => calls.note(parseRecord({ ...ALLOWED, call }, 1))));
      },
      "calls in the turns of a transcript": (ids) =>
        refusable(() => readTranscript({ ...TRANSCRIPT, turns: ids.map(turnWith) } as never, "").toArray()),
      "calls that stand for others": (executions) => {
        const calls = new EarlierCalls({} as EarlierReader, 1);
        return calls
          .add(executions.map((execution) => ({ execution, call: "1", key: "", tool: "a" }) as never))
          .toArray();
      },
      "calls in the messages of an AI SDK": (ids) =>
        callIn(
          ids.map((toolCallId) => ({ content: [{ type: "tool-call", toolCallId, toolName: "a", input: {} }] })),
          { name: "a", callId: "", input: {} },
        ),
      "calls of the turns of a provider": (ids) => {
        const unique = new UniqueIds();
        return ids.map((id) => unique.take(id));
      },
      "names in a text of a journal": (names) => parsedJson(`{${names.map((name) => `"${name}":1`).join(",")}}`),
    }).map(([what, run]) => [`long texts of one hash: ${what}`, { size: 900, make: longTexts, run }]),
  ),
  "equal calls that stand for others": {
    size: 100_000,
    make: (n) => times(n, (call) => ({ execution: "a", call: `${call}`, key: "", tool: "a" }) as never),
    run: (all: readonly never[]) => {
      const calls = new EarlierCalls({} as EarlierReader, 1);
      calls.add(all).toArray();
      for (const _ of all) calls.take("", "write");
    },
  },
  "nulls of many values whose fields are required": {
    size: 4000,
    make: (n) => n,
    run: (n: number) => {
      const items = { type: "object", properties: { a: {} }, required: times(n, (index) => `b${index}`) };
      return withoutNulls(JSON.stringify(times(n, () => ({ a: null }))), { type: "array", items });
    },
  },
  "calls of one bucket in the turn of a journal": {
    size: 20_000,
    make: numbersOfOneBucket,
    run: (ids: readonly number[]) => {
      const commands = ids.map((id) => ({ kind: "call", id, tool: "a", body: "{}" }) as const);
      const turn = { event: { kind: "fire", now: 1, id: 1 }, commands } as const;
      return refusable(() => applyTurn(new ExecutionState(), { type: "turn", event: "", commands: [] }, turn));
    },
  },
  "elements that differ": {
    size: 10_000,
    make: (n) => times(n, (index) => [index]),
    run: checked({ uniqueItems: true }),
  },
  ...Object.fromEntries(
    [".", "a.", "a=", "pwd=", "pwd:'", 'pwd="', "x".repeat(64), "pwd= ", "pwd=Bearer "].map((unit) => [
      `names of secrets, ${JSON.stringify(unit)}`,
      text(
        (n) => unit.repeat(n / unit.length),
        (long) => [...findNamed(long)],
        400_000,
      ),
    ]),
  ),
  ...Object.fromEntries(
    ["", "\n", " ", "Ab: ", "\nAb: ", "\naaaaaaaaaaaaaaaaaaaaaaaaaaaaaa", "\nAb: a\naaaaaaaaaaaaaaaaaaaaaaaaa\na"].map(
      (unit) => [
        `keys without an end, ${JSON.stringify(unit)}`,
        text(
          (n) => `-----BEGIN PRIVATE KEY-----${unit}`.repeat(n / 30) + unit.repeat(n / 10),
          (long) => findKeys(long),
          400_000,
        ),
      ],
    ),
  ),
  "a pattern that goes back": text((n) => `${"a".repeat(n)}!`, checked({ pattern: "^(a+)+$" })),
  "a pattern that looks ahead": text((n) => "a".repeat(n), checked({ pattern: "(?=.*b)(a*)*b" })),
  "a chain of references": {
    size: 4000,
    make: (n) => ({
      $ref: "#/$defs/d0",
      $defs: Object.fromEntries(
        times(n, (index) => [`d${index}`, index === n - 1 ? true : { $ref: `#/$defs/d${index + 1}` }]),
      ),
    }),
    run: (schema: JsonSchema) => [jsonSchema(schema), hasCycle(schema)],
  },
  ...Object.fromEntries(
    Object.entries(FITTING).flatMap(([format, fitting]) =>
      [fitting, fitting.slice(-1), fitting.slice(0, 2), fitting.slice(fitting.length / 2)].map((part, index) => [
        `format ${format} of ${JSON.stringify(part)}, ${index}`,
        text(
          (n) => `${fitting}${part.repeat(n / part.length)}\0`,
          (long) => fitsFormat(format, long),
          15_000,
        ),
      ]),
    ),
  ),
  ...Object.fromEntries(
    [
      ["url", (n: number) => `http://${"a".repeat(n)}!`],
      ["url", (n: number) => `http://${"@a".repeat(n)}`],
      ["uri", (n: number) => `a:${"//".repeat(n)} `],
      ["uri-reference", (n: number) => `${"a@:".repeat(n)} `],
      ["uri-template", (n: number) => `${"{a,b}".repeat(n)}{`],
      ["email", (n: number) => `"${"\\a".repeat(n)}@`],
      ["hostname", (n: number) => `${"a-".repeat(n)}.`],
      ["ipv6", (n: number) => "1:".repeat(n)],
      ["date-time", (n: number) => "t".repeat(n)],
      ["duration", (n: number) => `P${"1".repeat(n)}`],
      ["time", (n: number) => `00:00:00.${"1".repeat(n)}`],
      ["json-pointer", (n: number) => `${"/~0".repeat(n)}~`],
      ["relative-json-pointer", (n: number) => `1${"/a".repeat(n)}~`],
      ["json-pointer-uri-fragment", (n: number) => `#${"/%20".repeat(n)}~`],
      ["regex", (n: number) => "(?:a|".repeat(n / 2)],
    ].map(([format, make], index) => [
      `format ${String(format)} ${index}`,
      text(make as (n: number) => string, checked({ format }), 6000),
    ]),
  ),
};

/** Less processor time than this, in milliseconds, says nothing. */
const FLOOR_MS = 25;
/** A square takes four times as long for twice the size; what is linear takes two, and some of the noise. */
const MOST_RATIO = 3;

const ATTEMPTS = 3;
/** What else runs on the machine makes one round longer, a square makes all of them. */
const ROUNDS = 5;

async function leastMs({ make, run }: Case, size: number): Promise<number> {
  const input = make(size) as never;
  let least = Number.POSITIVE_INFINITY;
  for (let attempt = 0; attempt < ATTEMPTS && least > FLOOR_MS / 5; attempt += 1) {
    least = Math.min(least, await processorMs(() => run(input)));
  }
  return least;
}

/**
 * How many times as long an input takes as one of half its size; the least of several rounds, each of which compares the
 * least of several attempts. It makes no further attempt and no further round once that is less than `MOST_RATIO`.
 */
async function leastRatio(one: Case, size: number): Promise<number> {
  const input = one.make(size) as never;
  const wholeMs = () => processorMs(() => one.run(input));
  let least = Number.POSITIVE_INFINITY;
  for (let round = 0; round < ROUNDS && least >= MOST_RATIO; round += 1) {
    const firstMs = await wholeMs();
    // The half counts for the floor at least, so it need not be tried.
    if (firstMs < FLOOR_MS * MOST_RATIO) return firstMs / FLOOR_MS;
    const halfMs = Math.max(FLOOR_MS, await leastMs(one, size / 2));
    least = Math.min(least, firstMs / halfMs);
    for (let attempt = 1; attempt < ATTEMPTS && least >= MOST_RATIO; attempt += 1)
      least = Math.min(least, (await wholeMs()) / halfMs);
  }
  return least;
}

test.each(Object.entries(CASES))("twice as much takes about twice the processor time: %s", async (_, one) => {
  await leastMs(one, Math.ceil(one.size / 16));
  for (const size of [one.size, one.size * 2]) {
    expect(await leastRatio(one, size), `${size} beside ${size / 2}`).toBeLessThan(MOST_RATIO);
  }
});

test("each format that is checked is among those that are doubled", () => {
  expect(Object.keys(FITTING)).toEqual(Object.keys(knownFormats).toSorted());
  for (const [format, fitting] of Object.entries(FITTING))
    expect([format, fitsFormat(format, fitting)]).toEqual([format, true]);
});

test("a text of a megabyte costs the host no time for any format that is short", async () => {
  for (const format of ["date", "date-time", "duration", "email", "hostname", "ipv4", "ipv6", "time", "uuid"]) {
    const list = Array.from({ length: 16 }, () => (FITTING[format] ?? "").repeat(4096).slice(0, 65_000));
    const ms = await leastMs({ size: 0, make: () => list, run: checked({ items: { not: { format } } }) }, 0);
    expect(ms, format).toBeLessThan(5 * slowness("processor"));
  }
});
