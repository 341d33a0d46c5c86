import { succeeded } from '../../app/ended.js';
import { expect, test } from 'vitest';
import { backfill } from '../../../src/app/load/backfill.js';
import { LedgerlakeError } from '../../../src/core/errors.js';
import { createSeller } from '../../../src/emulator/seller/seller.js';
import { clockAt, defaults, fileContents, ran, temporaryFolder } from '../../app/lake-run.js';
import { watchedServer } from './watched-server.js';

const clock = clockAt('2025-06-20T12:00:00Z');

test('a run that is to begin nothing further ends with what is open in the lake, and the next one asks for the rest', async () => {
  const server = await watchedServer(createSeller({ seed: 3, events: 500, profile: 'edge-cases' }, clock), clock);
  const range = { from: '2025-04-01', to: '2025-06-11', endpoint: server.url, account: 'shop' };
  try {
    const whole = await temporaryFolder();
    await ran({ ...range, lake: whole }, { clock });
    const wanted = server.asked.splice(0);

    const lake = await temporaryFolder();
    const reason = new LedgerlakeError('STOPPED', 'its time is up');
    let turns = 0;
    for (let isDone = false; !isDone; turns++) {
      const closing = new AbortController();
      const begun = server.asked.length;
      server.onRequest = () => {
        // In the middle of its first slices.
        if (server.asked.length === begun + 3) closing.abort(reason);
      };
      const context = { clock, signal: new AbortController().signal, closing: closing.signal };
      const running = succeeded(backfill({ ...defaults, ...range, lake }, { ...context, emit: () => undefined }));
      isDone = await running.then(
        () => true,
        (error: unknown) => {
          expect(error).toBe(reason);
          return false;
        },
      );
      expect(turns).toBeLessThan(100);
    }
    expect(turns).toBeGreaterThan(3);
    expect(server.asked.toSorted()).toEqual(wanted.toSorted());
    expect(await fileContents(lake)).toEqual(await fileContents(whole));
  } finally {
    await server.close();
  }
});
