import { dayMs } from '../../core/windows.js';
import { parseNote, type Store } from '../../lake/store/store.js';
import { isoInstant } from '../../core/numeric/instant.js';

/** How far a sync looks back, and how often. */
export interface LookBackRule {
  readonly days: number;
  /** Days between two look-backs of this length; 0: with each run. */
  readonly everyDays: number;
}

/** Events arrive late mostly by hours, at times by days, and now and then when a reserve is released weeks later. */
export const defaultLookBack: readonly LookBackRule[] = [
  { days: 2, everyDays: 0 },
  { days: 14, everyDays: 7 },
  { days: 35, everyDays: 30 },
];

/** A nightly run doesn't begin at the same second each night: a look-back that is due within so long runs now. */
const slackMs = dayMs / 2;

/**
 * Days that are looked back now: the longest of the rules that are due.
 *
 * @param lastDone when all of the last so many days had been read again, milliseconds since 1970
 */
export function lookBackDays(
  rules: readonly LookBackRule[],
  lastDone: (days: number) => number | undefined,
  now: number,
): number {
  const due = rules.filter(({ days, everyDays }) => {
    const done = everyDays === 0 ? undefined : lastDone(days);
    return done === undefined || now - done + slackMs >= everyDays * dayMs;
  });
  return Math.max(0, ...due.map(({ days }) => days));
}

/** When a pipeline was last read again so many days back: instants in milliseconds since 1970, by pipeline and days. */
export type LookBacks = ReadonlyMap<string, ReadonlyMap<number, number>>;

/** Of each account a file, so that it goes when the account is forgotten. */
function pathOf(account: string): string {
  return `_sync/${account}.json`;
}

/**
 * Notes look-backs. Nothing depends on the note: where it is lost, a long look-back runs once more than it must.
 *
 * @throws LedgerlakeError LAKE_STORE where the lake can't be written
 */
export async function writeLookBacks(store: Store, account: string, lookBacks: LookBacks): Promise<void> {
  const pipelines = Object.fromEntries(
    [...lookBacks].map(([pipeline, done]) => [
      pipeline,
      Object.fromEntries([...done].map(([days, at]) => [String(days), isoInstant(at)])),
    ]),
  );
  await store.write(pathOf(account), Buffer.from(`${JSON.stringify({ look_backs: pipelines }, undefined, 2)}\n`));
}

/**
 * The note, without what can't be understood in it.
 *
 * @throws LedgerlakeError LAKE_STORE where the lake can't be read
 */
export async function readLookBacks(store: Store, account: string): Promise<LookBacks> {
  const noted = parseNote(await store.read(pathOf(account)), (value) => members(members(value)['look_backs']));
  return new Map(
    Object.entries(noted ?? {}).map(([pipeline, done]) => {
      const instants = Object.entries(members(done)).map(([days, at]): [number, number] => [
        Number(days),
        typeof at === 'string' ? Date.parse(at) : Number.NaN,
      ]);
      return [pipeline, new Map(instants.filter(([days, at]) => days > 0 && !Number.isNaN(at)))];
    }),
  );
}

function members(value: unknown): Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null ? (value as Readonly<Record<string, unknown>>) : {};
}
