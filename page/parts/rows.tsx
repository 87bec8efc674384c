import type { ComponentChildren, HTMLAttributes } from "preact";
import { useEffect, useLayoutEffect, useRef, useState } from "preact/hooks";

export interface RowsProps {
  readonly count: number;
  /** Height of every row, in pixels. */
  readonly rowHeight: number;
  readonly render: (index: number) => ComponentChildren;
  /** The row that has to be in sight; missing if none has. */
  readonly shown?: number | undefined;
  /**
   * Of the element that scrolls. Browsers let the keyboard reach it, unless something in it can be reached: then it needs a
   * role and a name.
   */
  readonly box?: HTMLAttributes<HTMLDivElement>;
}

/** Rows that are rendered beyond each edge. */
const BEYOND = 8;

/** Rows of equal height. Only rows in sight are in the document. When rows are added, no other row is laid out anew. */
export function Rows({ count, rowHeight, render, shown, box: attributes = {} }: RowsProps) {
  const box = useRef<HTMLDivElement>(null);
  const [top, setTop] = useState(0);
  const [height, setHeight] = useState(600);
  useLayoutEffect(() => {
    const element = box.current;
    if (!element) return;
    const observer = new ResizeObserver(() => setHeight(element.clientHeight));
    observer.observe(element);
    setHeight(element.clientHeight);
    return () => observer.disconnect();
  }, []);
  useEffect(() => {
    const element = box.current;
    if (!element || shown === undefined) return;
    const at = shown * rowHeight;
    if (at < element.scrollTop) element.scrollTop = at;
    else if (at + rowHeight > element.scrollTop + element.clientHeight)
      element.scrollTop = at + rowHeight - element.clientHeight;
  }, [shown]);
  const first = Math.max(0, Math.floor(top / rowHeight) - BEYOND);
  const last = Math.min(count, Math.ceil((top + height) / rowHeight) + BEYOND);
  const rows = Array.from({ length: Math.max(0, last - first) }, (_, place) => first + place);
  return (
    <div
      role="none"
      {...attributes}
      class="rows"
      ref={box}
      onScroll={({ currentTarget }) => setTop(currentTarget.scrollTop)}
    >
      <div class="rows-all" style={{ height: `${count * rowHeight}px` }} role="none">
        {rows.map((index) => (
          <div
            class="rows-one"
            key={index}
            style={{ transform: `translateY(${index * rowHeight}px)`, height: `${rowHeight}px` }}
            role="none"
          >
            {render(index)}
          </div>
        ))}
      </div>
    </div>
  );
}
