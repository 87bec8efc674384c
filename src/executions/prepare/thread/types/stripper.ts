import { parentPort } from "node:worker_threads";

/*
 * Removes TypeScript from a program. The parser backtracks, which can take exponential time, so it runs on a thread that is
 * ended after its deadline.
 */

/** What has become of a text; `map` is the source map of a text whose TypeScript could not be replaced by spaces. */
type StripResult = { readonly code: string; readonly map?: string } | { readonly error: StripError };

export interface StripError {
  readonly code?: string | undefined;
  readonly message?: string | undefined;
  readonly startLine?: number | undefined;
  readonly startColumn?: number | undefined;
}

interface Stripper {
  transformSync(text: string, options: object): { readonly code: string; readonly map?: string };
}

/**
 * Maximum memory of the stripper, in pages of 64 KiB. An ordinary program of the maximum size takes 5 MiB, and constants
 * of an enum that double with each member take hundreds in a second. Memory of WebAssembly is never given back.
 */
const MAX_PAGES = 1024;
/** Maximum length of a program that is written anew: the value of an enum's member is repeated wherever the program names it. */
const MAX_LENGTH = 128 * 1024;

/** As node strips types. Imports stay, which programs cannot have: they are refused by their own sentence. */
const OPTIONS = {
  mode: "strip-only",
  deprecatedTsModuleAsError: true,
  transform: {
    verbatimModuleSyntax: true,
    nativeClassProperties: true,
    noEmptyExport: true,
    importNotUsedAsValues: "preserve",
  },
} as const;

const TOO_LONG = `The enums and namespaces of this program come to more than ${MAX_LENGTH} characters of JavaScript`;

let stripper: Promise<Stripper> | undefined;
let isSpent = false;

/** Whether the stripper has crashed, after which its memory cannot be trusted. */
export function isStripperSpent(): boolean {
  return isSpent;
}

/** Removes the types in a text: replaces them by spaces, or writes the text anew if that is not possible. */
export async function runStripper(text: string): Promise<StripResult> {
  stripper ??= loadStripper();
  const stripped = strip(await stripper, text);
  if ("error" in stripped && !REFUSING.has(stripped.error.code ?? "")) isSpent = true;
  return stripped;
}

/** Codes of the stripper's errors about a text. Any other error is a crash. */
const REFUSING = new Set(["UnsupportedSyntax", "InvalidSyntax"]);

/** Few programs have types, and to load the stripper takes as long as to run a program. */
async function loadStripper(): Promise<Stripper> {
  parentPort?.postMessage("loading", []);
  const wasm = (globalThis as unknown as { WebAssembly: { Module: new (bytes: Uint8Array) => object } }).WebAssembly;
  const { Module } = wasm;
  wasm.Module = class extends Module {
    constructor(bytes: Uint8Array) {
      super(withMaxMemory(bytes));
    }
  };
  try {
    return (await import("@swc/wasm-typescript")).default;
  } finally {
    wasm.Module = Module;
    parentPort?.postMessage("ready", []);
  }
}

const MEMORY_SECTION = 5;

/** A WebAssembly module with a maximum for its memory. It has one memory, without a maximum. */
function withMaxMemory(module: Uint8Array): Uint8Array {
  for (let at = 8; at < module.length;) {
    const size = readNumber(module, at + 1);
    const end = size.end + size.value;
    if (module[at] !== MEMORY_SECTION) {
      at = end;
      continue;
    }
    const min = readNumber(module, size.end + 2);
    const section = [1, 1, ...numberBytes(min.value), ...numberBytes(MAX_PAGES)];
    return Buffer.concat([
      module.subarray(0, at),
      Buffer.from([MEMORY_SECTION, section.length, ...section]),
      module.subarray(end),
    ]);
  }
  throw new Error("The type stripper has no memory of its own.");
}

function readNumber(bytes: Uint8Array, at: number): { readonly value: number; readonly end: number } {
  let value = 0;
  for (let end = at, shift = 0; ; end += 1, shift += 7) {
    const byte = bytes[end] ?? 0;
    value += (byte & 127) << shift;
    if (byte < 128) return { value, end: end + 1 };
  }
}

function numberBytes(value: number): number[] {
  return value < 128 ? [value] : [(value & 127) | 128, ...numberBytes(value >>> 7)];
}

function strip(swc: Stripper, text: string): StripResult {
  try {
    return { code: swc.transformSync(text, OPTIONS).code };
  } catch (error) {
    const refused = fieldsOf(error);
    return refused.error.code === "UnsupportedSyntax" ? transform(swc, text) : refused;
  }
}

/** For what cannot be erased: enums, parameter properties, namespaces, `<T>x`. */
function transform(swc: Stripper, text: string): StripResult {
  try {
    const { code, map } = swc.transformSync(text, { ...OPTIONS, mode: "transform", sourceMap: true });
    return code.length <= MAX_LENGTH ? { code, map } : { error: { code: "UnsupportedSyntax", message: TOO_LONG } };
  } catch (error) {
    const refused = fieldsOf(error);
    if (REFUSING.has(refused.error.code ?? "")) return refused;
    // The stripper ran out of memory or stack.
    return { error: { code: "TransformFailed", message: TOO_LONG } };
  }
}

function fieldsOf(error: unknown): { readonly error: StripError } {
  const { code, message, startLine, startColumn } = error as StripError;
  return { error: { code, message, startLine, startColumn } };
}
