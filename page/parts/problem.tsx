import { useState } from "preact/hooks";
import { Refused } from "../data/source.ts";
import { hasKey, keepToken } from "../data/token.ts";
import { Text } from "../text.tsx";

const UNAUTHORIZED = 401;

/** What went wrong, and what to do about it. */
export function Problem({ error }: { readonly error: unknown }) {
  const message = error instanceof Error ? error.message : String(error);
  const [key, setKey] = useState("");
  if (!(error instanceof Refused) || error.status !== UNAUTHORIZED)
    return (
      <p role="alert" class="problem">
        <Text text={message} />
      </p>
    );
  const onSubmit = (event: Event) => {
    event.preventDefault();
    keepToken(key);
    location.reload();
  };
  return (
    <form class="problem" onSubmit={onSubmit}>
      <p role="alert">
        {hasKey() ? (
          <>
            The server refuses the key of this tab. <Text text={message} />
          </>
        ) : (
          "This server needs a key."
        )}{" "}
        A key is kept for this tab alone.
      </p>
      <label>
        Key{" "}
        <input
          type="password"
          autocomplete="off"
          value={key}
          onInput={({ currentTarget }) => setKey(currentTarget.value)}
        />
      </label>
      <button type="submit">Use it</button>
    </form>
  );
}
