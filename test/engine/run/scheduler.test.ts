import { Readable } from 'node:stream';
import { setImmediate as turn } from 'node:timers/promises';
import { expect, test } from 'vitest';
import { Scheduler, type OpenSlice, type SchedulerOptions } from '../../../src/engine/run/scheduler.js';
import { type Slice, listQueue, type SliceQueue } from '../../../src/engine/run/slice-queue.js';
import { HandClock } from '../../core/clock.js';

const named = (name: string): Slice => ({ name, label: name, loadKeys: [name] });

function queueOf(...names: readonly string[]): SliceQueue {
  return listQueue(names.map(named), 'slice', () => undefined);
}

function schedulerOf(queue: SliceQueue, more: Partial<SchedulerOptions<Slice>> = {}): Scheduler<Slice> {
  const clock = new HandClock('2026-03-20T12:00:00Z');
  return new Scheduler({
    queue,
    pace: () => undefined,
    unpaced: 2,
    clock,
    signal: new AbortController().signal,
    ...more,
  });
}

/** The slices as they come, in a list that grows, and whether there are no more. */
function taken(scheduler: Scheduler<Slice>): { readonly open: OpenSlice[]; readonly ended: () => boolean } {
  const open: OpenSlice[] = [];
  let isEnded = false;
  void (async () => {
    for await (const slice of Readable.from(scheduler.slices(), { highWaterMark: 0 })) open.push(slice as OpenSlice);
    isEnded = true;
  })();
  return { open, ended: () => isEnded };
}

const names = (open: readonly OpenSlice[]): string[] => open.map(({ slice }) => slice.name);

test('no more slices are open at once than there is room for, and each is cut only then', async () => {
  const queue = queueOf('a', 'b', 'c', 'd');
  const { open, ended } = taken(schedulerOf(queue));
  await turn();
  expect(names(open)).toEqual(['a', 'b']);
  expect(queue.left).toBe('2 slices');
  open[1]?.close();
  await turn();
  expect(names(open)).toEqual(['a', 'b', 'c']);
  for (const each of open.splice(0)) each.close();
  await turn();
  expect([names(open), ended()]).toEqual([['d'], false]);
  open[0]?.close();
  await turn();
  expect(ended()).toBe(true);
});

test('a slice that comes back is given out again, and those that are missing once all is read', async () => {
  const queue = queueOf('a');
  let rounds = 0;
  const { open, ended } = taken(schedulerOf({ ...queue, missed: () => (rounds++ < 2 ? [named('missed')] : []) }));
  for (let at = 0; at < 3; at++) {
    await turn();
    open[at]?.close();
  }
  await turn();
  expect([names(open), ended()]).toEqual([['a', 'missed', 'missed'], true]);
});

test('of those that are missing as many are open at once as of others, and none after a failure', async () => {
  const left = ['x', 'y', 'z', 'w'].map(named);
  const scheduler = schedulerOf({ ...queueOf(), missed: () => left.splice(0) });
  const { open, ended } = taken(scheduler);
  await turn();
  expect([names(open), scheduler.pagesLeft]).toEqual([['x', 'y'], 8]);
  open[0]?.close();
  await turn();
  expect(names(open)).toEqual(['x', 'y', 'z']);
  scheduler.fail(new Error('enough'));
  for (const each of open) each.close();
  await turn();
  expect([names(open), ended()]).toEqual([['x', 'y', 'z'], true]);
});

test.each(['signal', 'closing'] as const)('once its %s aborts no slice comes any more', async (which) => {
  const stop = new AbortController();
  const scheduler = schedulerOf(queueOf('a', 'b', 'c'), { [which]: stop.signal });
  const { open, ended } = taken(scheduler);
  await turn();
  const reason = new Error('enough');
  stop.abort(reason);
  await turn();
  expect([names(open), ended(), scheduler.failure]).toEqual([['a', 'b'], true, reason]);
});

test('after a failure no slice comes any more, and the first one is told', async () => {
  const scheduler = schedulerOf(queueOf('a', 'b', 'c'));
  const { open, ended } = taken(scheduler);
  await turn();
  scheduler.fail(new Error('first'));
  scheduler.fail(new Error('second'));
  await turn();
  expect([names(open), ended(), scheduler.failure]).toEqual([['a', 'b'], true, new Error('first')]);
});

test('closing is no failure where nothing is left to be opened', async () => {
  const closing = new AbortController();
  const scheduler = schedulerOf(queueOf('a'), { closing: closing.signal });
  const { open, ended } = taken(scheduler);
  await turn();
  closing.abort();
  await turn();
  expect(ended()).toBe(false);
  open[0]?.close();
  await turn();
  expect([ended(), scheduler.failure]).toEqual([true, undefined]);
});

test('while no answer has come another slice is opened each time that a token would be lost', async () => {
  const clock = new HandClock('2026-03-20T12:00:00Z');
  const pace = () => ({ rate: 0.5, burst: 30, level: 30, latency: undefined });
  const queue = { ...queueOf('a', 'b', 'c'), stretches: () => undefined };
  const { open } = taken(schedulerOf(queue, { clock, pace }));
  await turn();
  expect(names(open)).toEqual(['a']);
  await clock.advanceTo(clock.now() + 2000);
  await turn();
  expect(names(open)).toEqual(['a', 'b']);
});

test('what a queue throws ends the slices as a failure does', async () => {
  const failure = new Error('the lake is gone');
  const broken = schedulerOf({
    ...queueOf(),
    missed: () => {
      throw failure;
    },
  });
  const { ended } = taken(broken);
  await turn();
  expect([ended(), broken.failure]).toEqual([true, failure]);
});
