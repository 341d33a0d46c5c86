import { accountsOf } from './account.js';
import { boundsOf } from './bounds.js';
import { Figures } from './figures.js';
import { runFleet } from './fleet-run.js';
import { commitToOneLog } from './one-log.js';
import { decileLines, figureLines } from './report.js';
import type { Scenario } from './scenario.js';
import { usualScenario } from './usual.js';

/** One way to run the same fleet. */
interface Way {
  readonly name: string;
  readonly scenario: Scenario;
}

/**
 * Prints what becomes of a fleet, simulated on a clock of its own: by the policy of `src/app/fleet`, first come, first served,
 * and with other turns and places; then what one Delta log takes. `make bench-fleet ACCOUNTS=10000 DAYS=30 WORKERS=50`.
 */
async function run(sizes: Pick<Scenario, 'accounts' | 'days' | 'workers' | 'places'>): Promise<void> {
  const usual: Scenario = { ...usualScenario, ...sizes };
  const few = Math.ceil(usual.places / 4);
  const long = 600_000;
  const ways: readonly Way[] = [
    { name: `first come, ${few} places`, scenario: { ...usual, places: few, turnMs: undefined } },
    { name: `10 min, ${few} places`, scenario: { ...usual, places: few, turnMs: long } },
    { name: `1 min, ${few} places`, scenario: { ...usual, places: few } },
    { name: `10 min, ${usual.places} places`, scenario: { ...usual, turnMs: long } },
    { name: `1 min, ${usual.places} places`, scenario: usual },
  ];
  const { accounts, days, workers, places } = usual;
  console.log(`${accounts} accounts, ${days} days, ${workers} workers of ${places} places, seed ${usual.seed}`);
  const tables = ways.map(simulated);
  printTable(
    ['', ...ways.map(({ name }) => name)],
    (tables[0]?.figures ?? []).map(([what], row) => [what, ...tables.map(({ figures }) => figures[row]?.[1] ?? '')]),
  );
  const header = ['tenth', 'events a month', 'alone', 'half after', '95 % after', 'slowdown', '95 %'];
  for (const way of [0, 1, 4]) {
    console.log(`\n${ways[way]?.name ?? ''}`);
    printTable(header, tables[way]?.deciles ?? []);
  }
  console.log(`\n${storeMs} ms a call of the store`);
  const logs = [];
  for (const writers of [1, 10, 50]) logs.push(await commitToOneLog(writers, storeMs, 200));
  printTable(
    ['writers of one log', 'commits a second', 'calls each', 'longest s'],
    logs.map((log) => [log.writers, log.commitsPerSecond, log.calls, log.longest].map((value) => value.toFixed(0))),
  );
}

/** What S3 takes for a small object. */
const storeMs = 30;

function simulated({ name, scenario }: Way): { figures: [string, string][]; deciles: string[][] } {
  const accounts = accountsOf(scenario);
  const bounds = boundsOf(accounts, scenario);
  const figures = new Figures(scenario.start, scenario.days);
  const began = performance.now();
  const outcome = runFleet(scenario, accounts, figures);
  console.error(`${name}: simulated in ${((performance.now() - began) / 1000).toFixed(0)} s`);
  return { figures: figureLines(scenario, figures, outcome, bounds), deciles: decileLines(figures, bounds) };
}

function printTable(header: readonly string[], rows: readonly (readonly string[])[]): void {
  console.log(
    `\n| ${header.join(' | ')} |\n| --- |${header
      .slice(1)
      .map(() => ' ---: |')
      .join('')}`,
  );
  for (const row of rows) console.log(`| ${row.join(' | ')} |`);
}

const { accounts, days, workers, places } = usualScenario;
const [given = accounts, over = days, by = workers, each = places] = process.argv.slice(2).map(Number);
await run({ accounts: given, days: over, workers: by, places: each });
