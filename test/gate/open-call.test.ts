import { createHash } from "node:crypto";
import { expect, test } from "vitest";
import { OVER } from "../../src/gate/call-end.ts";
import { OpenCall } from "../../src/gate/open-call.ts";
import { contextOf, idle, makeTool } from "./open-session.ts";

const request = { callId: "7", tool: "t", caller: "programmatic", inputText: "{}" } as const;
const openCall = () => new OpenCall(makeTool(), request);

test("a call resolves or rejects like its task", async () => {
  const failure = new Error("no");
  expect(await openCall().over.or(async () => 1)).toBe(1);
  await expect(openCall().over.or(() => Promise.reject(failure))).rejects.toBe(failure);
});

test("a call that ends does not wait for its task", async () => {
  const call = openCall();
  const outcome = call.over.or(() => new Promise<never>(() => {}));
  call.end("It was late.");
  expect(await outcome).toBe(OVER);
});

test("an error of a task whose call has ended is no unhandled rejection", async () => {
  const unhandled: unknown[] = [];
  const note = (reason: unknown) => unhandled.push(reason);
  process.on("unhandledRejection", note);
  const call = openCall();
  const task = Promise.withResolvers<never>();
  const outcome = call.over.or(() => task.promise);
  call.end("It was late.");
  task.reject(new Error("too late"));
  expect(await outcome).toBe(OVER);
  await idle();
  process.off("unhandledRejection", note);
  expect(unhandled).toEqual([]);
});

test("no task starts for a call that has ended", async () => {
  const call = openCall();
  call.end("It was late.");
  let begun = 0;
  const task = async () => {
    begun += 1;
  };
  expect(await call.over.or(task)).toBe(OVER);
  expect(begun).toBe(0);
});

test("the end of a call does not wait for the second of two tasks", async () => {
  const call = openCall();
  expect(await call.over.or(async () => "first")).toBe("first");
  const second = call.over.or(() => new Promise<never>(() => {}));
  call.end("It was late.");
  expect(await second).toBe(OVER);
});

test("the end of a call waits for neither of two nested tasks", async () => {
  const call = openCall();
  const outer = call.over.or(() => call.over.or(() => new Promise<never>(() => {})));
  call.end("It was late.");
  expect(await outer).toBe(OVER);
});

test("if a handler is late, the task around it continues, and the handler's signal is aborted", async () => {
  const call = openCall();
  const outer = call.over.or(async () => [await call.over.orLate(() => new Promise<never>(() => {})), "answered"]);
  call.over.setLate("It was late.");
  expect(await outer).toEqual([OVER, "answered"]);
  expect(call.signal.reason).toEqual(new Error("It was late."));
  expect(call.isOver).toBe(false);
});

test("the end of a call waits neither for its handler nor for the task around it", async () => {
  const call = openCall();
  const outer = call.over.or(() => call.over.orLate(() => new Promise<never>(() => {})));
  call.end("The execution has ended.");
  expect(await outer).toBe(OVER);
});

test("a call that has ended keeps the digest of its input and not the text", () => {
  const [waiting, started] = [openCall(), openCall()];
  started.handling.started = true;
  const { idempotencyKey } = contextOf(openCall());
  for (const call of [waiting, started]) {
    call.end("The execution has ended.");
    expect(call.inputText).toBe("");
  }
  expect(contextOf(started).idempotencyKey).toBe(idempotencyKey);
});

test("a handler's signal has the first reason for the call's end, also if it is read after that", () => {
  const [before, after] = [openCall(), openCall()];
  const { signal } = before;
  const heard: unknown[] = [];
  signal.addEventListener("abort", () => heard.push(signal.reason));
  expect(signal.aborted).toBe(false);
  for (const call of [before, after]) {
    call.end("It was late.");
    call.end("Something else.");
    expect(call.signal.aborted).toBe(true);
    expect(call.signal.reason).toEqual(new Error("It was late."));
    expect(call.signal).toBe(call.signal);
  }
  expect(before.signal).toBe(signal);
  expect(heard).toEqual([new Error("It was late.")]);
});

test("a handler receives the caller, the same idempotency key for the same call, and the call's signal", () => {
  const call = openCall();
  const context = contextOf(call);
  expect(context).toMatchObject({
    execution: "e1",
    callId: "7",
    caller: "programmatic",
    idempotencyKey: `e1:7:${createHash("sha256").update("{}").digest("hex")}`,
  });
  expect(context.signal).toBe(call.signal);
});
