import { expect, onTestFinished, test } from 'vitest';
import { LedgerlakeError } from '../../../src/core/errors.js';
import type { Emit } from '../../../src/core/events/run-event.js';
import { createSeller } from '../../../src/emulator/seller/seller.js';
import { fileContents, temporaryFolder } from '../lake-run.js';
import { watchedServer } from '../../engine/run/watched-server.js';
import { setClock, synced } from './synced.js';

const evening = '2026-03-20T22:00:00Z';
const nextEvening = '2026-03-21T22:00:00Z';
/** Everything of the last 40 days again. */
const lookBack = [{ days: 40, everyDays: 0 }];

/** The lake's files; of the history, which has the instant of each turn in it, how many. */
async function filesOf(lake: string) {
  const all = await fileContents(lake);
  const isHistory = (file: string): boolean => file.startsWith('event_history/');
  return { history: all.filter(isHistory).length, others: all.filter((file) => !isHistory(file)) };
}

/** A made-up shop with a service that can have a run closed with its next request. */
async function shop() {
  const clock = setClock(evening);
  const server = await watchedServer(createSeller({ seed: 5, events: 300, profile: 'edge-cases' }, clock), clock);
  onTestFinished(() => server.close());
  const lake = await temporaryFolder();
  const given = { lake, endpoint: server.url, account: 'shop', lookBack };
  const whole = async (at: string) => {
    clock.set(at);
    expect((await synced(given, { clock })).failure).toBeUndefined();
  };
  const inTurns = async (at: string): Promise<number> => {
    const began = Date.parse(at);
    const key = (pipeline: string, slice: string) => `${pipeline} ${slice}`;
    const earlier = new Set<string>();
    const turns = { began, wasRead: (pipeline: string, slice: string) => earlier.has(key(pipeline, slice)) };
    for (let turn = 0; ; turn++) {
      // The open settlement is read as it is by then: within so little time nothing more comes into it.
      clock.set(began + turn * 1000);
      const closing = new AbortController();
      const over = new LedgerlakeError('STOPPED', 'another account has priority');
      server.onRequest = () => {
        closing.abort(over);
      };
      const committed: string[] = [];
      const emit: Emit = (event) => {
        if (event.event === 'slice-committed') committed.push(key(event.pipeline, event.slice));
      };
      const { failure } = await synced(given, { clock, closing: closing.signal, turns, emit });
      for (const slice of committed) earlier.add(slice);
      if (failure === undefined) return turn + 1;
      expect(failure).toBe(over);
    }
  };
  return { lake, whole, inTurns, asked: server.asked };
}

test('a sync in many turns asks for each page once, and comes to the same lake as one in a single turn', async () => {
  const single = await shop();
  const cut = await shop();
  await single.whole(evening);
  expect(await cut.inTurns(evening)).toBeGreaterThan(4);
  expect(cut.asked.toSorted()).toEqual(single.asked.toSorted());
  expect(new Set(cut.asked).size).toBe(cut.asked.length);
  expect(await filesOf(cut.lake)).toEqual(await filesOf(single.lake));

  // Now most of what it reads is there already: nothing in the lake tells that it was read again.
  for (const { asked } of [single, cut]) asked.length = 0;
  await single.whole(nextEvening);
  expect(await cut.inTurns(nextEvening)).toBeGreaterThan(3);
  expect(cut.asked.filter((page) => page.startsWith('financial-events/')).length).toBeGreaterThan(15);
  expect(cut.asked.toSorted()).toEqual(single.asked.toSorted());
  expect(await filesOf(cut.lake)).toEqual(await filesOf(single.lake));
});
