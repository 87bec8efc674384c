// @ts-check
/*
 * Removes TypeScript from a program, on a separate thread: the parser backtracks, which can take exponential time, and
 * only terminating its thread stops it. This file is plain JavaScript, because it is run without a build.
 *
 *   host:   TEXT
 *   thread: { code } where types became spaces; { code, map } where the program was written anew, with its source map;
 *           or { error } with the fields of the stripper's error
 *
 * The thread's first message is "ready": the stripper is loaded.
 */
import { parentPort } from "node:worker_threads";

/**
 * Maximum memory of the stripper, in pages of 64 KiB. An ordinary program of the maximum size takes 5 MiB, and constants
 * of an enum that double with each member take hundreds in a second. Memory of WebAssembly is never given back.
 */
const MAX_PAGES = 1024;
/** Maximum length of a program that is written anew: the value of an enum's member is written wherever the program names it. */
const MAX_LENGTH = 128 * 1024;

const TOO_LONG = `The enums and namespaces of this program come to more than ${MAX_LENGTH} characters of JavaScript`;

const MEMORY_SECTION = 5;

/** A WebAssembly module with a maximum for its memory. It has one memory, without a maximum. @param {Uint8Array} module */
function withMaxMemory(module) {
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

/** Reads an unsigned LEB128 number. @param {Uint8Array} bytes @param {number} at */
function readNumber(bytes, at) {
  let value = 0;
  for (let end = at, shift = 0; ; end += 1, shift += 7) {
    const byte = bytes[end] ?? 0;
    value += (byte & 127) << shift;
    if (byte < 128) return { value, end: end + 1 };
  }
}

/** @param {number} value @returns {number[]} */
function numberBytes(value) {
  return value < 128 ? [value] : [(value & 127) | 128, ...numberBytes(value >>> 7)];
}

// The types of node do not have WebAssembly as a value.
const { WebAssembly: wasm } = /** @type {{ WebAssembly: { Module: new (bytes: Uint8Array) => object } }} */ (
  /** @type {unknown} */ (globalThis)
);
const { Module } = wasm;
wasm.Module = class extends Module {
  /** @param {Uint8Array} bytes */
  constructor(bytes) {
    super(withMaxMemory(bytes));
  }
};
const { default: amaro } = await import("amaro");
wasm.Module = Module;

/** @param {string} text */
function strip(text) {
  try {
    return { code: amaro.transformSync(text, { mode: "strip-only" }).code };
  } catch (error) {
    const refused = fieldsOf(error);
    return refused.error.code === "UnsupportedSyntax" ? transform(text) : refused;
  }
}

/** For what cannot be erased: enums, parameter properties, namespaces, `<T>x`. @param {string} text */
function transform(text) {
  try {
    const { code, map } = amaro.transformSync(text, { mode: "transform", sourceMap: true });
    return code.length <= MAX_LENGTH ? { code, map } : { error: { code: "UnsupportedSyntax", message: TOO_LONG } };
  } catch (error) {
    const refused = fieldsOf(error);
    const { code } = refused.error;
    if (code === "UnsupportedSyntax" || code === "InvalidSyntax") return refused;
    // It ran out of memory or stack, so the host drops this thread, as for any other code.
    return { error: { code: "TransformFailed", message: TOO_LONG } };
  }
}

/** @param {unknown} error */
function fieldsOf(error) {
  const { code, message, startLine, startColumn } = /** @type {Record<string, unknown>} */ (error);
  return { error: { code, message, startLine, startColumn } };
}

parentPort?.on("message", (text) => parentPort?.postMessage(strip(text), []));
parentPort?.postMessage("ready", []);
