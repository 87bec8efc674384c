/** Another server may stand below another path of the same host. */
const KEY = `portcullis.token ${new URL(".", location.href).pathname}`;

/** Takes the token out of the address, `/#token=…`, also if more follows, so that it is in no bookmark and no history. It is kept for this tab alone. */
export function takeToken(): string | undefined {
  const given = /^#token=([^&]{1,1024})(?:&|$)/.exec(location.hash)?.[1];
  if (given === undefined) return sessionStorage.getItem(KEY) ?? undefined;
  keepToken(decoded(given));
  history.replaceState(null, "", "#/");
  return sessionStorage.getItem(KEY) ?? undefined;
}

function decoded(given: string): string {
  try {
    return decodeURIComponent(given);
  } catch {
    return given;
  }
}

export function hasKey(): boolean {
  return sessionStorage.getItem(KEY) !== null;
}

export function keepToken(token: string): void {
  sessionStorage.setItem(KEY, token);
}
