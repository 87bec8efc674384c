import type { RewrittenPlaces } from "../../../guest/source-map.ts";
import { NOT_ASYNC } from "../find-misused-call.ts";
import { asFunction, bodyOf, placeInBody } from "../function-body.ts";
import { moduleFault } from "../module-syntax.ts";
import { readMappings, STRIPPER_LINE_ENDS } from "./read-mappings.ts";
import { syntaxFault, type UnparsedProgram } from "../parsed-program.ts";
import { type StripError, runStripper } from "./stripper.ts";

interface Untyped {
  readonly code: string;
  readonly rewritten: RewrittenPlaces | undefined;
}

export async function stripTypes(code: string): Promise<Untyped | UnparsedProgram> {
  const text = asFunction(code);
  const stripped = await runStripper(text);
  if ("error" in stripped) return unstripped(code, stripped.error);
  const { map } = stripped;
  return {
    code: bodyOf(stripped.code.trimEnd()),
    rewritten: map === undefined ? undefined : readMappings(map, text, stripped.code),
  };
}

function unstripped(code: string, { code: kind, message = "", startLine, startColumn }: StripError): UnparsedProgram {
  const position =
    startLine === undefined || startColumn === undefined
      ? undefined
      : placeInBody(code, { line: startLine, column: startColumn }, STRIPPER_LINE_ENDS);
  if (kind === "InvalidSyntax") {
    if (message.startsWith("await isn't allowed"))
      return { fault: syntaxFault(NOT_ASYNC, "await_not_async"), position };
    return moduleFault(code) ?? { fault: syntaxFault(`${message}.`), position: undefined };
  }
  if (kind !== "UnsupportedSyntax" && kind !== "TransformFailed")
    return { fault: syntaxFault("The program cannot be read."), position: undefined };
  const words = message.replace(/ in (strip-only|type strip) mode/, "").replace(/\.$/, "");
  return {
    fault: syntaxFault(`${words}. Write this as plain JavaScript.`, "typescript_unsupported"),
    position,
  };
}
