/** Values of each kind of JSON but null, which stands for a field that is missing. */
const OF_KINDS = { string: "x", number: 5, boolean: true, array: [], object: {} };

/** Each field of a request with a value of each kind that it cannot have. `kinds` are those that it can have. */
export function wrongFields(
  kinds: Readonly<Record<string, string>>,
): readonly (readonly [field: string, value: unknown])[] {
  return Object.entries(kinds).flatMap(([field, own]) =>
    Object.entries(OF_KINDS).flatMap(([kind, value]) =>
      own.split(" ").includes(kind) ? [] : [[field, value] as const],
    ),
  );
}

/** A body with another value of a field; `thinking.type` is a field in a field. */
export function withField(body: object, place: string, value: unknown): object {
  const [name = "", inner] = place.split(".");
  const outer = (body as Readonly<Record<string, object>>)[name];
  return { ...body, [name]: inner === undefined ? value : { ...outer, [inner]: value } };
}
