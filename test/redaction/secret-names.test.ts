import { expect, test } from "vitest";
import { isSecretName, isSecretPath } from "../../src/redaction/secret-names.ts";

test.each([
  "password",
  "user_password",
  "API-Key",
  "apiKey",
  "accessToken",
  "token",
  "Set-Cookie",
  "db.connection_string",
])("the value of %s is secret", (name) => {
  expect(isSecretName(name)).toBe(true);
});

test.each(["pageToken", "next_page_token", "cursorToken", "maxToken", "tokens", "passwords", "secrets", "key", "name"])(
  "the value of %s is not",
  (name) => {
    expect(isSecretName(name)).toBe(false);
  },
);

test("any name along a path says so", () => {
  expect(["user.password", "secret.value", "secrets", "user.name"].map(isSecretPath)).toEqual([
    true,
    true,
    false,
    false,
  ]);
});
