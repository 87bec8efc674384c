import * as fc from "fast-check";
import { expect, test } from "vitest";
import { RefusedAsk, type Surface } from "../../../../src/serve/gateway/surface/surface.ts";
import { runs } from "../../../support/all-tests.ts";
import { mutated } from "./mutated.ts";

/** What holds for each surface, whatever it is asked. `kinds` are the fields of a body that are read, by what each may be. */
export function surfaceTests(
  { read }: Surface,
  body: object,
  kinds: Readonly<Record<string, string>>,
  headers = new Headers(),
): void {
  test.each(wrongFields(kinds))(
    "a request whose %s is %j is refused by that name, and not read without it",
    (field, value) => {
      const place = expect.stringMatching(`^${field.split(".")[0]}`) as string;
      const refusal = expect.objectContaining({ kind: "invalid", place }) as object;
      const asked = () => read(withField(body, field, value), headers);
      expect(asked).toThrow(expect.objectContaining({ refusal }) as Error);
    },
  );

  test.each(Object.keys(kinds).filter((field) => field.includes(".")))(
    "%s is unknown as a field of its own",
    (field) => {
      const refusal = expect.objectContaining({ place: field, code: "unknown_parameter" }) as object;
      const asked = () => read({ ...body, [field]: "x" }, headers);
      expect(asked).toThrow(expect.objectContaining({ refusal }) as Error);
    },
  );

  test("a request that was changed anywhere is read or refused, and nothing else", { timeout: 300_000 }, () => {
    fc.assert(
      fc.property(mutated(body), (changed) => {
        try {
          read(changed, headers);
        } catch (error) {
          expect(error).toBeInstanceOf(RefusedAsk);
          expect((error as RefusedAsk).message.length).toBeLessThan(2000);
        }
      }),
      { numRuns: runs(20_000) },
    );
  });
}

/** Values of each kind of JSON but null, which stands for a field that is missing. */
const OF_KINDS = { string: "x", number: 5, boolean: true, array: [], object: {} };

/** Each field of a request with a value of each kind that it cannot have. `kinds` are those that it can have. */
function wrongFields(kinds: Readonly<Record<string, string>>): readonly (readonly [field: string, value: unknown])[] {
  return Object.entries(kinds).flatMap(([field, own]) =>
    Object.entries(OF_KINDS).flatMap(([kind, value]) =>
      own.split(" ").includes(kind) ? [] : [[field, value] as const],
    ),
  );
}

/** A body with another value of a field; `thinking.type` is a field in a field. */
function withField(body: object, place: string, value: unknown): object {
  const [name = "", inner] = place.split(".");
  const outer = (body as Readonly<Record<string, object>>)[name];
  return { ...body, [name]: inner === undefined ? value : { ...outer, [inner]: value } };
}
