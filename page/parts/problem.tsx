import { useState } from "preact/hooks";
import { Refused } from "../data/source.ts";
import { hasKey, keepToken } from "../data/token.ts";
import { Text } from "../text.tsx";

const UNAUTHORIZED = 401;
const NOT_FOUND = 404;

/** Takes the place of a screen that has nothing to show. `executions`: those of which at least one cannot be had. */
export function NotShown({ executions, error }: { readonly executions: readonly string[]; readonly error: unknown }) {
  if (!(error instanceof Refused) || error.status !== NOT_FOUND) return <Problem error={error} />;
  const [what, where] = executions.length === 1 ? ["This execution is", "it"] : ["One of these executions is", "both"];
  return (
    <div class="head" role="alert">
      <h1>{what} not here</h1>
      <p class="lead">
        It may have been deleted, or another key may be needed to see {where}, or the address is not whole.
      </p>
      <p class="quiet">
        <Text text={executions.join(", ")} />
      </p>
      <p>
        <a href="#/">All executions</a>
      </p>
    </div>
  );
}

/** Whether the server shows nothing without a key, or another one. */
export function needsKey(error: unknown): boolean {
  return error instanceof Refused && error.status === UNAUTHORIZED;
}

/** What went wrong, and what to do about it. */
export function Problem({ error }: { readonly error: unknown }) {
  const message = error instanceof Error ? error.message : String(error);
  const [key, setKey] = useState("");
  if (!needsKey(error))
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
