import { join } from 'node:path';
import { expect, test } from 'vitest';
import { createSeller } from '../../../src/emulator/seller/seller.js';
import { diskStore } from '../../../src/lake/store/disk.js';
import { acquireLease } from '../../../src/lake/leases.js';
import type { RunEvent } from '../../../src/core/events/run-event.js';
import { backfill } from '../../../src/app/load/backfill.js';
import { ended } from '../ended.js';
import { clockAt, defaults, ran, serving, temporaryFolder } from '../lake-run.js';

test('an end in the future is drawn back to the present, and the run says so', async () => {
  const clock = clockAt('2025-06-01T00:05:00Z');
  const endpoint = await serving({
    backend: createSeller({ seed: 7, events: 50, profile: 'plausible' }, clock),
    clock,
  });
  const options = { endpoint, account: 'shop', pipelines: ['financial-events'], from: '2025-05-31' };
  for (const to of ['2030-01-01', '2025-06-01', undefined]) {
    const { logged } = await ran({ ...options, lake: await temporaryFolder(), to }, { clock });
    const note = '--to 2030-01-01 is in the future: the range ends at 2025-06-01T00:00:00';
    expect(logged.includes(note)).toBe(to === '2030-01-01');
  }
});

test('a run beside another one of its account says so first; beside one of another account it has nothing to say', async () => {
  const clock = clockAt('2025-06-01T00:05:00Z');
  const lake = join(await temporaryFolder(), 'lake');
  const endpoint = await serving({
    backend: createSeller({ seed: 7, events: 50, profile: 'plausible' }, clock),
    clock,
  });
  const options = { lake, endpoint, account: 'shop', from: '2025-05-01', to: '2025-05-03' };
  const purpose = { command: 'sync', pipelines: ['financial-events'] };
  for (const account of ['shop', 'other']) {
    const lease = await acquireLease({ store: diskStore(lake), run: '0-other' }, clock, { ...purpose, account });
    const { logged } = await ran(options, { clock });
    await lease.release();
    const expected = `another run is active on the lake (sync of shop, process ${process.pid} on `;
    expect(logged.startsWith(expected)).toBe(account === 'shop');
    expect(logged.includes('another run')).toBe(account === 'shop');
  }
});

test('a run that does not reach its service has begun, and ends with a summary', async () => {
  const emitted: RunEvent[] = [];
  const { signal } = new AbortController();
  const context = { clock: clockAt('2025-06-01T00:05:00Z'), signal, emit: (event: RunEvent) => emitted.push(event) };
  const startEmbedded = () => Promise.reject(new Error('no port is left'));
  const lake = await temporaryFolder();
  const { failure, summary } = await ended(backfill({ ...defaults, lake, startEmbedded }, context));
  expect(failure).toMatchObject({ message: 'no port is left' });
  expect(emitted.map(({ event }) => event)).toEqual(['run-started', 'message', 'run-ended']);
  expect(summary).toMatchObject({ status: 'failed', run: expect.any(String) as string, pipelines: {}, catalog: null });
});
