import { dayMs } from '../../core/windows.js';
import { parseNote, writeNote, type Store } from '../../lake/store/store.js';
import type { LookBackRule } from '../configuration/setting-definitions.js';
import { isoInstant } from '../../core/numeric/instant.js';

/** A look-back that is due within this time runs now, as a nightly run doesn't start at the same second each night. */
const slackMs = dayMs / 2;

/**
 * Days that the present run looks back: the longest of the due rules.
 *
 * @param lastDone when the last look-back of so many days was done, milliseconds since 1970
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

/** When each look-back was last done: milliseconds since 1970, by pipeline and days. */
export type LookBacks = ReadonlyMap<string, ReadonlyMap<number, number>>;

/** One file for each account, which is deleted when the account is forgotten. */
function pathOf(account: string): string {
  return `_sync/${account}.json`;
}

/**
 * Notes look-backs. The note is disposable: without it, a long look-back runs once more than needed.
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
  await writeNote(store, pathOf(account), { look_backs: pipelines });
}

/**
 * Reads the note, without the entries that are invalid.
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
