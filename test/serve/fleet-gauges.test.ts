import { readFileSync } from "node:fs";
import { expect, test } from "vitest";
import type { FleetFigures } from "../../src/fleet/index.ts";
import { fleetGauges } from "../../src/serve/api/handlers/health.ts";
import { PrometheusFigures } from "../../src/gate/telemetry/prometheus.ts";
import { manualClock } from "../support/clock.ts";

const NOW = 1_000_000;
const figures: FleetFigures = {
  queued: [
    { tenant: "acme", wakes: 2, since: NOW - 1500 },
    { tenant: 'b"olt', wakes: 7, since: NOW + 10 },
  ],
  lacking: new Map([["model", 3]]),
  driven: 5,
};
const linesOf = (of: FleetFigures | undefined) => {
  manualClock(NOW);
  return new PrometheusFigures().text(fleetGauges(of)).split("\n");
};

test("what a fleet does is told as Prometheus reads it, by tenant where it waits", () => {
  expect(linesOf(figures).filter((line) => !line.startsWith("#"))).toEqual([
    "portcullis_fleet_up 1",
    'portcullis_fleet_queued{portcullis_tenant="b\\"olt"} 7',
    'portcullis_fleet_queued{portcullis_tenant="acme"} 2',
    'portcullis_fleet_oldest_wait_seconds{portcullis_tenant="b\\"olt"} 0',
    'portcullis_fleet_oldest_wait_seconds{portcullis_tenant="acme"} 1.5',
    "portcullis_fleet_driven 5",
    'portcullis_fleet_misfits{portcullis_needs="tools"} 0',
    'portcullis_fleet_misfits{portcullis_needs="sandbox"} 0',
    'portcullis_fleet_misfits{portcullis_needs="protocol"} 0',
    'portcullis_fleet_misfits{portcullis_needs="model"} 3',
    "",
  ]);
});

test("a database that does not answer leaves the figures out and says so", () => {
  expect(linesOf(undefined).filter((line) => !line.startsWith("#"))).toEqual(["portcullis_fleet_up 0", ""]);
});

test("of very many tenants those with the most have series, and the others are counted as one", () => {
  const queued = Array.from({ length: 1000 }, (_, n) => ({ tenant: `t${n}`, wakes: n + 1, since: NOW - n }));
  const lines = linesOf({ ...figures, queued }).filter((line) => line.startsWith("portcullis_fleet_queued"));
  expect(lines).toHaveLength(201);
  expect(lines[0]).toBe('portcullis_fleet_queued{portcullis_tenant="t999"} 1000');
  expect(lines.at(-1)).toBe(`portcullis_fleet_queued{otel_metric_overflow="true"} ${(800 * 801) / 2}`);
});

test("the document of fleets has each of them, with its type", () => {
  const document = readFileSync("docs/fleet.md", "utf8");
  const named = [...document.matchAll(/^\| `(portcullis_fleet_\w+)`/gm)].map(([, name]) => name);
  const told = linesOf(figures).flatMap((line) => /^# TYPE (\S+)/.exec(line)?.slice(1) ?? []);
  expect(named).toEqual(told);
});
