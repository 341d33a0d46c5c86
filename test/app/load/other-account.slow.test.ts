import { readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { createSeller } from '../../../src/emulator/seller/seller.js';
import { fileHashes, ran, serving, temporaryFolder } from '../lake-run.js';
import { arrayBackend, type DatedItem } from '../../serve/http/array-backend.js';
import { shipment } from './backend-items.js';
import { setClock, synced } from './synced.js';

// Real sockets, on machines that have others to do.
const begin = '2026-03-20T02:00:00Z';

const codeOf = (failure: unknown): unknown => failure instanceof Error && 'code' in failure && failure.code;

describe.each([
  ['v0', 'financial-events'],
  ['2024-06-19', 'transactions'],
] as const)('a sync of %s that another seller answers', (_api, pipeline) => {
  test.each(['plausible', 'edge-cases'] as const)('ends before it replaces or adds anything (%s)', async (profile) => {
    const clock = setClock(begin);
    const [endpoint, other] = await Promise.all(
      [7, 8].map((seed) => serving({ backend: createSeller({ seed, events: 2500, days: 60, profile }, clock), clock })),
    );
    const lake = await temporaryFolder();
    const journal = join(await temporaryFolder(), 'journal');
    // Slow enough for pages to be kept, and with a token for each.
    const given = { lake, endpoint, account: 'shop', pipelines: [pipeline], journal, rate: 100 };
    await ran({ ...given, from: '2026-03-01' }, { clock });
    const before = await fileHashes(lake);

    clock.set('2026-03-21T02:00:00Z');
    const { failure, summary } = await synced({ ...given, endpoint: other }, { clock });
    expect(codeOf(failure)).toBe('UPSTREAM_ACCOUNT');
    expect(String(failure)).toContain('another account');
    expect(summary.status).toBe('failed');
    expect(await fileHashes(lake)).toEqual(before);
    // What came is of no use to the next run.
    expect((await readdir(journal, { recursive: true })).filter((name) => name.endsWith('.page'))).toEqual([]);

    const refreshed = { ...given, endpoint: other, from: '2026-03-10', refresh: true };
    expect(codeOf(await ran(refreshed, { clock }).catch((error: unknown) => error))).toBe('UPSTREAM_ACCOUNT');
    expect(await fileHashes(lake)).toEqual(before);

    // The right one, though all of its days are read again.
    const right = await synced({ ...given, lookBack: 30 }, { clock });
    expect(right.failure).toBeUndefined();
    expect(right.summary.changes[pipeline]?.vanished ?? 0).toBeLessThanOrEqual(profile === 'plausible' ? 50 : 200);
    const accepted = await synced({ ...given, endpoint: other, acceptEmpty: true }, { clock });
    expect(accepted.failure).toBeUndefined();
    expect(accepted.summary.changes[pipeline]?.vanished).toBeGreaterThan(10);
  });
});

describe('a shop with an order a day', () => {
  const days = (prefix: string): DatedItem[] =>
    Array.from({ length: 19 }, (_, at) =>
      shipment(`2026-03-${String(at + 1).padStart(2, '0')}T12:00:00Z`, `${prefix}-${at + 1}`),
    );

  test('loses at most a few days to another seller, which the history keeps', async () => {
    const clock = setClock(begin);
    const [endpoint, other] = await Promise.all(
      ['order', 'other'].map((prefix) => serving({ backend: arrayBackend(days(prefix)), clock })),
    );
    const given = { lake: await temporaryFolder(), endpoint, account: 'shop', pipelines: ['financial-events'] };
    await synced(given, { clock });
    const { failure, summary } = await synced({ ...given, endpoint: other, lookBack: 8 }, { clock });
    expect(codeOf(failure)).toBe('UPSTREAM_ACCOUNT');
    expect(summary.changes['financial-events']).toMatchObject({ appeared: 4, vanished: 4 });
  });

  test('may have days of which every order is another one, as long as others are the same', async () => {
    const clock = setClock(begin);
    const items = days('order');
    const endpoint = await serving({ backend: arrayBackend(items), clock });
    const given = { lake: await temporaryFolder(), endpoint, account: 'shop', pipelines: ['financial-events'] };
    await synced(given, { clock });
    items.splice(12, 6, ...days('other').slice(12, 18));
    const { failure, summary } = await synced({ ...given, lookBack: 15 }, { clock });
    expect(failure).toBeUndefined();
    expect(summary.changes['financial-events']).toMatchObject({ appeared: 6, vanished: 6 });
  });
});
