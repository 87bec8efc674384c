/* An untrusted text has nothing of a string: what reads it elsewhere does not compile. */
import type { UntrustedText } from "../../../src/base/index.ts";

export function refusedByTheCompiler(text: UntrustedText): void {
  // @ts-expect-error it is no string
  JSON.parse(text);
  // @ts-expect-error it is no string
  RegExp(text);
  // @ts-expect-error it is no string
  Buffer.byteLength(text);
  // @ts-expect-error it has no length
  void text.length;
  // @ts-expect-error it is not searched
  text.indexOf("a");
  // @ts-expect-error it is not split
  text.split("a");
  // @ts-expect-error it is not cut
  text.slice(1);
  // @ts-expect-error it has no characters
  void text[0];
  // @ts-expect-error it is not gone through
  void [...text];
  // @ts-expect-error it is not compared with a string
  void (text === "a");
  // @ts-expect-error it does not become part of a string
  const part: string = text;
  void part;
}
