import { useEffect, useState } from "preact/hooks";

/** What the address asks for, behind `#`. */
export type Route =
  | { readonly screen: "list" }
  | { readonly screen: "execution"; readonly execution: string }
  | { readonly screen: "compare"; readonly one: string; readonly other: string };

export function routeOf(hash: string): Route {
  const [, screen, one, other] = hash.replace(/^#/, "").split("/").map(decoded);
  if (screen === "execution" && one) return { screen, execution: one };
  if (screen === "compare" && one && other) return { screen, one, other };
  return { screen: "list" };
}

function decoded(part: string): string {
  try {
    return decodeURIComponent(part);
  } catch {
    return part;
  }
}

export function linkTo(screen: "execution" | "compare", ...ids: readonly string[]): string {
  return `#/${[screen, ...ids.map((id) => encodeURIComponent(id.toWellFormed()))].join("/")}`;
}

export function useRoute(): Route {
  const [hash, setHash] = useState(location.hash);
  useEffect(() => {
    const onChange = () => setHash(location.hash);
    addEventListener("hashchange", onChange);
    return () => removeEventListener("hashchange", onChange);
  }, []);
  return routeOf(hash);
}
