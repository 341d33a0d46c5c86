import { dayMs } from '../../core/windows.js';
import { loadedWindows, windowKey } from '../../engine/slicing/window-slices.js';
import { messageOf } from '../../core/errors.js';
import type { Emit } from '../../core/events/run-event.js';
import type { Lake } from '../../lake/lake.js';
import { writeLookBacks, type LookBacks } from '../../lake/upkeep/look-backs.js';
import type { FinancesPipeline } from '../../sources/finances/connect-finances.js';
import type { LookBack, LookBackRule } from '../configuration/setting-definitions.js';

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

export interface LookBackQuestion {
  readonly lookBack: LookBack;
  /** Look-backs of earlier runs. */
  readonly lookBacks: LookBacks;
  /** The end of the range, milliseconds since 1970. */
  readonly end: number;
  readonly now: number;
}

/** Days that a pipeline looks back in this run. */
export function pipelineLookBackDays(
  lake: Lake,
  account: string,
  pipeline: FinancesPipeline,
  { lookBack, lookBacks, end, now }: LookBackQuestion,
): number {
  if (typeof lookBack === 'number') return lookBack;
  const { name, slicing } = pipeline;
  const noted = lookBacks.get(name);
  const read = lake.snapshot.keysOf(account, name);
  const longest = Math.max(...lookBack.map((rule) => rule.days));
  const lastDone = (days: number): number | undefined => {
    // Windows of a pipeline with `prepare` change without a look-back too: only all windows of the longest rule together prove one.
    const from = end - (slicing.prepare === undefined ? days : longest) * dayMs;
    const times = loadedWindows(lake, name, account)
      .filter((window) => window.end > from)
      .map((window) => read.get(windowKey(window))?.readAt ?? 0);
    // The log has each window's last change: all windows were read since the oldest of these instants.
    const changed = times.length === 0 ? undefined : Math.min(...times);
    // A look-back covers every shorter one.
    const covering = [...(noted ?? [])].flatMap(([notedDays, at]) => (notedDays >= days ? at : []));
    const recorded = covering.length === 0 ? undefined : Math.max(...covering);
    if (recorded === undefined || changed === undefined) return recorded ?? changed;
    return slicing.prepare === undefined ? Math.max(recorded, changed) : recorded;
  };
  return lookBackDays(lookBack, lastDone, now);
}

/**
 * Notes the look-backs of a run that has read.
 *
 * @param days that it read again, by the pipeline's name
 */
export async function noteLookBacks(
  lake: Lake,
  account: string,
  days: ReadonlyMap<string, number>,
  { lookBack, lookBacks: earlier, now }: Omit<LookBackQuestion, 'end'>,
  emit: Emit,
): Promise<void> {
  const lookBacks = new Map(earlier);
  for (const [pipeline, back] of days) {
    const reached =
      typeof lookBack === 'number'
        ? [lookBack]
        : lookBack.flatMap((rule) => (rule.everyDays > 0 && rule.days <= back ? rule.days : []));
    if (reached.length === 0) continue;
    const noted = reached.map((reachedDays) => [reachedDays, now] as const);
    lookBacks.set(pipeline, new Map([...(lookBacks.get(pipeline) ?? []), ...noted]));
  }
  try {
    await writeLookBacks(lake.store, account, lookBacks);
  } catch (error) {
    emit({ event: 'note-not-written', note: 'look-back', reason: messageOf(error) });
  }
}
