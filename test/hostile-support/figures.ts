const MIB = 1024 * 1024;

/** What one attack cost, as far as there is a bound for it. */
export interface Figures {
  /** Time beyond the limit that the attack ran into; below zero where it ended before. */
  readonly overMs: number;
  readonly gapMs: number;
  readonly ownGapMs: number;
  readonly keptBytes: number;
  readonly peakBytes: number;
  readonly cpuAfterMs: number;
  readonly nextMs: number;
}

interface Line {
  readonly name: string;
  readonly figures: Figures;
}

/** Figures of all attacks, for a table of the worst of each class. */
export class FigureTable {
  readonly #classes = new Map<string, Line[]>();

  add(name: string, figures: Figures): void {
    const [group = ""] = name.split("-", 1);
    const lines = this.#classes.get(group) ?? [];
    lines.push({ name, figures });
    this.#classes.set(group, lines);
  }

  /** One line for each class, in the order in which they came. */
  get text(): string {
    const rows = [...this.#classes].map(([group, lines]) => {
      const worst = (figure: keyof Figures) => Math.max(...lines.map(({ figures }) => figures[figure]));
      return [
        group,
        String(lines.length),
        ...COLUMNS.map(([, figure, unit = 1, digits = 0]) => (worst(figure) / unit).toFixed(digits)),
      ];
    });
    const table = [HEADINGS, ...rows];
    const widths = HEADINGS.map((_, column) => Math.max(...table.map((row) => row[column]?.length ?? 0)));
    return table.map((row) => row.map((cell, column) => cell.padStart(widths[column] ?? 0)).join("  ")).join("\n");
  }
}

const COLUMNS: readonly (readonly [heading: string, figure: keyof Figures, unit?: number, digits?: number])[] = [
  ["ms over limit", "overMs"],
  ["gap ms", "gapMs"],
  ["of its own", "ownGapMs"],
  ["peak MiB", "peakBytes", MIB],
  ["kept MiB", "keptBytes", MIB],
  ["cpu ms after", "cpuAfterMs"],
  ["next program ms", "nextMs", 1, 1],
];
const HEADINGS = ["worst of", "attacks", ...COLUMNS.map(([heading]) => heading)];
