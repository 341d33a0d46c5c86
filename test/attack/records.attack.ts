import { join } from 'node:path';
import { expect, test } from 'vitest';
import { status } from '../../src/app/status/status.js';
import type { Clock } from '../../src/core/clock.js';
import { LedgerlakeError } from '../../src/core/errors.js';
import { createSeller } from '../../src/emulator/seller/seller.js';
import { database, ran, serving, temporaryFolder } from '../app/lake-run.js';
import { reported } from '../app/report/reported-lake.js';
import { synced } from '../app/load/synced.js';
import { verified } from '../app/verify/verified.js';
import { seed, trialsOf } from '../campaign.js';
import { Kept } from '../core/text/streams.js';
import { referenceRows } from '../reference/flatten.js';
import { servingLake } from '../serve/lake/served-lake.js';
import { mutating } from '../sources/finances/api-v0/odd-answers.js';
import {
  envelopeKinds,
  mutatedRecord,
  valueKinds,
  type Body,
  type EnvelopeKind,
  type ValueKind,
} from './record-mutations.js';

/** LEDGERLAKE_TEST_RECORDS=200 is the whole campaign. */
const trials = trialsOf('RECORDS', 24);
const range = { from: '2025-05-01', to: '2025-05-29', account: 'shop' };

/** A clock on which whoever sleeps has slept at once. */
function wakingClock(iso: string): Clock {
  let now = Date.parse(iso);
  return {
    now: () => now,
    sleep: (ms, signal) => {
      signal?.throwIfAborted();
      now += ms;
      return Promise.resolve();
    },
  };
}

/** A whole number below the limit, always the same one for a text. */
function drawn(text: string, limit: number): number {
  let hash = seed >>> 0;
  for (let at = 0; at < text.length; at++) hash = Math.imul(hash ^ text.charCodeAt(at), 0x01000193) >>> 0;
  return hash % limit;
}

/** An answer with a fourth of its records mutated, always in the same way. */
function withMutatedRecords(text: string, kind: ValueKind): string {
  const { payload } = JSON.parse(text) as Body;
  const { FinancialEvents, FinancialEventGroupList, NextToken } = payload;
  const each = (list: readonly unknown[]): string => {
    const records = list.map((record) => {
      const own = JSON.stringify(record);
      return drawn(own, 4) === 0 ? mutatedRecord(record, kind, drawn(own, 1e9)) : own;
    });
    return `[${records.join(',')}]`;
  };
  const members = [
    ...(NextToken === undefined ? [] : [`"NextToken":${JSON.stringify(NextToken)}`]),
    ...(FinancialEventGroupList === undefined ? [] : [`"FinancialEventGroupList":${each(FinancialEventGroupList)}`]),
    ...(FinancialEvents === undefined
      ? []
      : [
          `"FinancialEvents":{${Object.entries(FinancialEvents)
            .map(([name, list]) => `${JSON.stringify(name)}:${each(list)}`)
            .join(',')}}`,
        ]),
  ];
  return `{"payload":{${members.join(',')}}}`;
}

const stopped = '4 others failed before it and no page arrived, so the run stops; run it again later';

/** What is wrong with an error that a command ended with; a run may leave slices open, and no more than that. */
function errorFault(what: string, error: unknown): string[] {
  if (error === undefined) return [];
  if (!(error instanceof LedgerlakeError))
    return [`${what}: ${error instanceof Error ? (error.stack ?? '') : 'threw'}`];
  const isShort = error.message.length < 2000 && !error.message.includes('\n');
  // An answer without what the lake holds doesn't take its place. Four windows without a page, and no page of any, stop a run.
  const isStopped =
    error.code === 'UPSTREAM_BODY' && error.message.endsWith(stopped) && !error.message.startsWith('group-events');
  const isTold = error.code === 'INCOMPLETE' || error.code === 'UPSTREAM_EMPTY' || isStopped;
  return isTold && isShort ? [] : [`${what}: ${error.code} ${error.message.slice(0, 500)}`];
}

async function failureOf(run: () => Promise<unknown>): Promise<unknown> {
  return run().then(
    () => undefined,
    (error: unknown) => error ?? new Error('threw nothing'),
  );
}

/** Rows of a query as texts, in an order of their own. */
async function texts(lake: string, clock: Clock, sql: string): Promise<string[]> {
  const rows = await (await database(lake, clock)).rows(sql);
  return rows
    .map((row) => JSON.stringify(Object.values(row).map((cell) => (cell === null ? null : String(cell)))))
    .sort();
}

const entryKeys = [
  'path',
  'item',
  'sku',
  'fnsku',
  'asin',
  'order_item_id',
  'quantity',
  'kind',
  'name',
  'role',
] as const;

/** What of the lake's events and entries by date isn't what the judge makes of the answers. */
async function rowFaults(lake: string, clock: Clock, bodies: readonly string[]): Promise<string[]> {
  const { events, entries } = referenceRows(bodies, { windowStart: null, windowEnd: null });
  const ofEvents = events.map((row) => JSON.stringify([row.event_list, row.raw])).sort();
  const ofEntries = entries
    .map((row) =>
      JSON.stringify(
        [row.event_list, ...entryKeys.map((key) => row[key]), row.amount, row.amount_text, row.currency].map((cell) =>
          cell === null ? null : String(cell),
        ),
      ),
    )
    .sort();
  const amount = '(amount * 1000000)::DECIMAL(38,0)::HUGEINT::VARCHAR';
  const [held, heldEntries] = [
    await texts(lake, clock, 'SELECT event_list, raw FROM events'),
    await texts(
      lake,
      clock,
      `SELECT event_list, ${entryKeys.join(', ')}, ${amount}, amount_text, currency FROM entries`,
    ),
  ];
  const differing = (what: string, a: readonly string[], b: readonly string[]): string[] => {
    const at = a.findIndex((text, index) => text !== b[index]);
    if (at < 0 && a.length === b.length) return [];
    return [
      `${what}: ${a.length} expected, ${b.length} held: ${(a[at] ?? '').slice(0, 300)} | ${(b[at] ?? '').slice(0, 300)}`,
    ];
  };
  return [...differing('events', ofEvents, held), ...differing('entries', ofEntries, heldEntries)];
}

/** Everything that goes wrong when a service answers so, from the first load to a replica of the lake. */
async function faultsOf(kind: ValueKind | EnvelopeKind, own: number): Promise<string[]> {
  const clock = wakingClock('2025-06-01T00:05:00Z');
  const backend = createSeller({ seed: own % 1000, events: 250, days: 60, profile: 'edge-cases' }, clock);
  const upstream = await serving({ backend, clock });
  const bodies: string[] = [];
  const endpoint = await mutating(upstream, (text, path) => {
    if (kind in valueKinds) {
      const body = withMutatedRecords(text, kind as ValueKind);
      if (path.startsWith('/finances/v0/financialEvents')) bodies.push(body);
      return body;
    }
    // Every other question, always the same ones.
    if (drawn(path, 2) === 0) return text;
    return JSON.stringify(envelopeKinds[kind as EnvelopeKind](JSON.parse(text) as Body));
  });
  const lake = join(await temporaryFolder(), 'lake');
  const faults = errorFault('backfill', await failureOf(() => ran({ ...range, lake, endpoint }, { clock })));
  if (kind in valueKinds) faults.push(...(await rowFaults(lake, clock, bodies)));
  const checked = async (what: string): Promise<void> => {
    const failure = await failureOf(async () => {
      const { problems } = await verified({ root: lake, clock });
      const [problem] = problems.filter(({ kind: of }) => of === 'lake');
      if (problem !== undefined) faults.push(`${what}: ${problem.check}: ${problem.problem.slice(0, 500)}`);
    });
    if (failure !== undefined) faults.push(...errorFault(what, failure), what);
  };
  await checked('verify');
  const output = new Kept();
  const context = { clock, signal: new AbortController().signal, output, emit: () => undefined };
  for (const format of ['json', 'table'] as const) {
    const shown = () =>
      status({ lake, account: undefined, format, color: false, from: undefined, to: undefined }, context);
    faults.push(...errorFault(`status ${format}`, await failureOf(shown)));
  }
  faults.push(...errorFault('report', await failureOf(() => reported({ root: lake, clock }))));
  const { failure } = await synced({ lake, endpoint, account: 'shop' }, { clock });
  faults.push(...errorFault('sync', failure));
  await checked('verify after sync');
  const replica = await servingLake(lake, clock);
  for (const path of [
    'financialEvents?PostedAfter=2025-05-01T00:00:00Z&PostedBefore=2025-05-29T00:00:00Z',
    'financialEventGroups?FinancialEventGroupStartedAfter=2025-05-01T00:00:00Z&FinancialEventGroupStartedBefore=2025-05-29T00:00:00Z',
  ]) {
    const answer = await fetch(`${replica}/finances/v0/${path}`);
    const text = await answer.text();
    if (answer.status !== 200) faults.push(`serve: ${answer.status} ${text.slice(0, 300)}`);
    else JSON.parse(text);
  }
  return faults;
}

test(`${trials} mutations of a service's records (LEDGERLAKE_TEST_SEED=${seed}): none lost, none ends a command`, async () => {
  const kinds = [...Object.keys(valueKinds), ...Object.keys(envelopeKinds)] as (ValueKind | EnvelopeKind)[];
  const tally = new Map<string, { tried: number; held: number }>();
  const told: string[] = [];
  for (let trial = 0; trial < trials; trial++) {
    const kind = kinds[trial % kinds.length] ?? 'null';
    const faults = await faultsOf(kind, seed + trial);
    const counts = tally.get(kind) ?? { tried: 0, held: 0 };
    tally.set(kind, { tried: counts.tried + 1, held: counts.held + (faults.length === 0 ? 1 : 0) });
    for (const fault of faults) told.push(`${kind}: ${fault}`);
    if (faults.length > 0) console.log(`${kind} (trial ${trial}):\n  ${faults.join('\n  ')}`);
  }
  console.log([...tally].map(([kind, { tried, held }]) => `${kind.padEnd(28)}${tried}/${held}`).join('\n'));
  expect(told).toEqual([]);
});
