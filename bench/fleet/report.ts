import { dayMs } from '../../src/core/windows.js';
import type { Account } from './account.js';
import type { Bounds } from './bounds.js';
import type { Figures } from './figures.js';
import type { Outcome } from './told.js';
import { jain, quantile } from './quantile.js';
import type { Scenario } from './scenario.js';

const hour = 3_600_000;

/** The figures of a simulated fleet, a line each: what, and how much. */
export function figureLines(
  scenario: Scenario,
  figures: Figures,
  outcome: Outcome,
  bounds: Bounds,
): [string, string][] {
  const { days, workers, places, start } = scenario;
  const done = [...figures.backfilled].filter(([{ joinsAt }]) => joinsAt === start);
  const longest = Math.max(...[...bounds.alone].filter(([{ joinsAt }]) => joinsAt === start).map(([, ms]) => ms));
  const slowdowns = slowdownsOf(figures, bounds).map(({ slowdown }) => slowdown);
  const lags = figures.syncs.map(({ askedAt, at }) => at - askedAt);
  const late = [0, 1, 8].map((day) => figures.late(8, day, outcome.notSynced));
  const rate = (minutes: Float64Array, share: number) => quantile([...minutes], share) / 60;
  return [
    ['first backfills done, of accounts that can be', `${figures.backfilled.size} of ${bounds.alone.size}`],
    ['all that were there on the first day, after', hours(Math.max(...done.map(([, ms]) => ms)))],
    ['bound: the largest account alone', hours(longest)],
    ['bound: processors', hours(bounds.cpuMs)],
    ['all places, were each account read in one go', hours(bounds.placesMs)],
    [
      'half of them, 95 %, 99 % after',
      [0.5, 0.95, 0.99]
        .map((share) =>
          hours(
            quantile(
              done.map(([, ms]) => ms),
              share,
            ),
          ),
        )
        .join(', '),
    ],
    [
      'slowdown: median, 95 %, largest',
      [0.5, 0.95, 1].map((share) => quantile(slowdowns, share).toFixed(2)).join(', '),
    ],
    ["Jain's index of 1 / slowdown", jain(slowdowns.map((slowdown) => 1 / slowdown)).toFixed(3)],
    ['quota used by accounts of more than an hour', percent(quotaUsed(figures, bounds))],
    ['syncs asked for', String(late[0]?.of)],
    [
      'behind their instant: median, 95 %, 99.9 %, last',
      [0.5, 0.95, 0.999, 1].map((share) => minutes(quantile(lags, share))).join(', '),
    ],
    [
      'of these not done by 08:00: all, but those of the first night, from the 9th day on',
      late.map((some) => String(some.late)).join(', '),
    ],
    [
      'jobs that wait: most, and on the average of the last week',
      `${Math.max(...figures.waiting)}, ${mean(figures.waiting.slice(-7 * 1440)).toFixed(1)}`,
    ],
    [
      'places taken, on average: all days, the first, the last week',
      [figures.busy, figures.busy.slice(0, 1440), figures.busy.slice(-7 * 1440)]
        .map((of) => percent(mean(of) / (workers * places)))
        .join(', '),
    ],
    ['processors used, on average', percent(outcome.cpuMs / (days * dayMs * workers))],
    ['turns, of which cut', `${figures.turns}, ${figures.over}`],
    ['turns that died with their worker or lost their lock', String(figures.died)],
    [
      'to the dead letters: refused, others',
      `${figures.deaths.filter(({ account }) => account.isDenied).length}, ${figures.deaths.filter(({ account }) => !account.isDenied).length}`,
    ],
    [
      'requests, of which sent again',
      `${figures.sent}, ${figures.sent - figures.kept} (${percent((figures.sent - figures.kept) / figures.sent)})`,
    ],
    ['events read', `${(figures.events / 1e6).toFixed(0)} million`],
    [
      'requests a second: median, 99 %, most',
      [0.5, 0.99, 1].map((share) => rate(figures.requestsAMinute, share).toFixed(1)).join(', '),
    ],
    [
      'slices of settlements, of all slices',
      `${figures.slices.groups.toFixed(0)}, ${sumOf(Object.values(figures.slices)).toFixed(0)}`,
    ],
    [
      'slices committed a second: median, 99 %, most',
      [0.5, 0.99, 1].map((share) => rate(figures.slicesAMinute, share).toFixed(2)).join(', '),
    ],
    [
      'turns a second: median, 99 %, most',
      [0.5, 0.99, 1].map((share) => rate(figures.turnsAMinute, share).toFixed(2)).join(', '),
    ],
    ["calls of the queue's scripts a turn", (outcome.queueCalls / figures.turns).toFixed(1)],
  ];
}

/** The tenths of the accounts by size, the smallest first: how long their first backfills took, against each alone. */
export function decileLines(figures: Figures, bounds: Bounds): string[][] {
  const all = slowdownsOf(figures, bounds).toSorted((a, b) => a.account.eventsPerDay - b.account.eventsPerDay);
  const groups = Array.from({ length: 10 }, (_, tenth) =>
    all.slice(Math.floor((all.length * tenth) / 10), Math.floor((all.length * (tenth + 1)) / 10)),
  );
  groups.push(all.slice(-Math.ceil(all.length / 100)));
  return groups.map((group, tenth) => {
    const of = (value: (one: Slowdown) => number, share: number) => quantile(group.map(value), share);
    return [
      tenth === 10 ? 'largest 1 %' : String(tenth + 1),
      of(({ account }) => account.eventsPerDay * 30, 0.5).toFixed(0),
      hours(of(({ alone }) => alone, 0.5)),
      hours(of(({ took }) => took, 0.5)),
      hours(of(({ took }) => took, 0.95)),
      of(({ slowdown }) => slowdown, 0.5).toFixed(2),
      of(({ slowdown }) => slowdown, 0.95).toFixed(2),
    ];
  });
}

interface Slowdown {
  readonly account: Account;
  readonly took: number;
  readonly alone: number;
  readonly slowdown: number;
}

function slowdownsOf({ backfilled }: Figures, { alone }: Bounds): Slowdown[] {
  return [...backfilled].map(([account, took]) => {
    const least = alone.get(account) ?? NaN;
    return { account, took, alone: least, slowdown: took / least };
  });
}

/** Of the time that accounts of more than an hour took, the part that their own quota decides. */
function quotaUsed(figures: Figures, bounds: Bounds): number {
  const large = slowdownsOf(figures, bounds).filter(({ alone }) => alone > hour);
  return large.reduce((sum, { alone }) => sum + alone, 0) / large.reduce((sum, { took }) => sum + took, 0);
}

function sumOf(values: readonly number[]): number {
  return values.reduce((sum, value) => sum + value, 0);
}

function mean(values: Int32Array): number {
  return values.reduce((sum, value) => sum + value, 0) / values.length;
}

function hours(ms: number): string {
  return ms < hour ? minutes(ms) : `${(ms / hour).toFixed(1)} h`;
}

function minutes(ms: number): string {
  return ms < 60_000 ? `${(ms / 1000).toFixed(0)} s` : `${(ms / 60_000).toFixed(1)} min`;
}

function percent(share: number): string {
  return `${(share * 100).toFixed(1)} %`;
}
