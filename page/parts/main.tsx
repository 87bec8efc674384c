import type { ComponentProps } from "preact";
import { useEffect } from "preact/hooks";
import { visibleText } from "../visible-text.ts";

export interface MainProps extends ComponentProps<"main"> {
  /** What the tab is called. */
  readonly tab?: string;
  /** Stable names for scripts. */
  readonly [data: `data-${string}`]: string | number | boolean | undefined;
}

/** All of a screen. Each screen has one for as long as it is shown, which gets the focus when the screen follows another. */
export function Main({ tab = "", ...attributes }: MainProps) {
  useEffect(() => {
    document.title = tab === "" ? NAME : visibleText(tab);
  }, [tab]);
  return <main {...attributes} tabIndex={-1} />;
}

const NAME = "Portcullis";
