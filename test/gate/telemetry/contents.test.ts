import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { z } from "zod";
import { redactSecrets } from "../../../src/index.ts";
import { capturesOf, type TelemetryOptions } from "../../../src/gate/telemetry/options.ts";
import { record, type Recording } from "./recording.ts";
import { executed, makeTool, runtimeWith } from "../../support/index.ts";

const VARIABLE = "OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT";
let recording: Recording;
beforeEach(() => {
  recording = record();
});
afterEach(async () => {
  vi.unstubAllEnvs();
  await recording.stop();
});

const SECRET = `ghp_${"a1B2".repeat(9)}`;
const echo = makeTool({
  name: "echo",
  inputSchema: z.object({ text: z.string() }),
  execute: ({ text }) => ({ said: text }),
});
const PROGRAM = 'const { said } = await tools.echo({ text: "hello" }); return said + "!";';

async function attributesWith(telemetry?: TelemetryOptions, program = PROGRAM, options: object = {}) {
  await executed([echo], program, {}, { ...(telemetry && { telemetry }), ...options });
  const { attributes: call } = recording.span("execute_tool echo");
  const { attributes: run } = recording.span("execute_tool run_program");
  return {
    input: call["gen_ai.tool.call.arguments"],
    result: call["gen_ai.tool.call.result"],
    program: run["portcullis.program"],
    value: run["gen_ai.tool.call.result"],
    fault: run["portcullis.fault"],
  };
}

const NONE = { input: undefined, result: undefined, program: undefined, value: undefined, fault: undefined };

test("no content is in a span unless it is asked for, each kind by itself", async () => {
  expect(await attributesWith()).toEqual(NONE);
  await recording.stop();
  for (const [capture, shown] of [
    [["inputs"], { input: '{"text":"hello"}' }],
    [["results"], { result: '{"said":"hello"}', value: '"hello!"' }],
    [["programs"], { program: PROGRAM }],
  ] as const) {
    recording = record();
    expect(await attributesWith({ capture })).toEqual({ ...NONE, ...shown });
    await recording.stop();
  }
});

test("the variable of the conventions asks for all of them, and the option comes first", async () => {
  const all = ["inputs", "results", "programs"];
  const asked = (value: string) => [...(capturesOf(undefined, { [VARIABLE]: value }) ?? [])];
  for (const value of ["true", " True", "span_only", "SPAN_AND_EVENT"]) expect(asked(value)).toEqual(all);
  for (const value of ["", "false", "no_content", "event_only", "1"]) expect(asked(value)).toEqual([]);
  vi.stubEnv(VARIABLE, "true");
  expect(await attributesWith()).toMatchObject({ input: '{"text":"hello"}', value: '"hello!"' });
  await recording.stop();
  recording = record();
  expect(await attributesWith({ capture: [] })).toEqual(NONE);
});

test("the message of a fault is shown with results alone", async () => {
  const program = 'await tools.echo({ text: "a" }); throw new Error("the guest says this");';
  expect((await attributesWith({ capture: ["results"] }, program)).fault).toBe("the guest says this");
});

test("captured contents are redacted before they are cut, also where a secret lies across the cut", async () => {
  const long = `${"x".repeat(8160)} ${SECRET} `;
  const program = `const { said } = await tools.echo({ text: "${long}" + "y".repeat(50000) }); return said.slice(0, 20) + " ${SECRET}";`;
  const capture = ["inputs", "results", "programs"] as const;
  const told = Object.values(await attributesWith({ capture }, program, { redact: redactSecrets() }));
  for (const text of told.map(String)) {
    expect(text).not.toContain(SECRET.slice(0, 12));
    expect(Buffer.byteLength(text)).toBeLessThan(17_000);
  }
  expect(told.map(String).join("")).toContain("bytes left out");
  const spans = recording.spans();
  expect(spans.map(({ name }) => name)).toEqual(["execute_tool echo", "execute_tool run_program"]);
  // A span that waits for its redaction ends when the work ended.
  for (const { startTime, endTime } of spans)
    expect(endTime[0] * 1e9 + endTime[1]).toBeGreaterThanOrEqual(startTime[0] * 1e9 + startTime[1]);
});

test("an invalid option is refused, and false records nothing", async () => {
  const make = (telemetry: unknown) => runtimeWith([], { telemetry: telemetry as false });
  await expect(make({ capture: ["secrets"] })).rejects.toMatchObject({ code: "option_invalid" });
  await expect(make({ captures: [] })).rejects.toThrow("did you mean capture?");
  await expect(make("all")).rejects.toThrow("createRuntime({ telemetry })");
  await using runtime = await make(false);
  await runtime.execute("return 1");
  expect(recording.spans()).toEqual([]);
});
