import type { EmulatorOptions } from '../../emulator/emulator.js';
import { onTestFinished } from 'vitest';
import type { Clock } from '../../../src/core/clock.js';
import { openServedLake } from '../../../src/cli/serve/serve-lake.js';
import type { BackendItem, BackendPage, BackendQuery } from '../../../src/serve/operation/backend-page.js';
import type { LakeBackend } from '../../../src/serve/served-apis.js';
import { serving } from '../../app/lake-run.js';

/** A lake as a backend, until the test is over. */
export async function lakeBackend(lake: string, clock: Clock, account?: string): Promise<LakeBackend> {
  const { backend } = await openServedLake({ lake, account }, clock, () => undefined);
  onTestFinished(() => {
    backend.close();
  });
  return backend;
}

/** A lake behind a service of its own, until the test is over; its address. */
export async function servingLake(lake: string, clock: Clock, options: Partial<EmulatorOptions> = {}): Promise<string> {
  return serving({ backend: await lakeBackend(lake, clock), clock, ...options });
}

/** All pages of a question, each of `size` items; the last of `sizes` for all that follow. */
export async function allPages(
  ask: (query: BackendQuery) => Promise<BackendPage | undefined>,
  asOf: number,
  sizes: readonly number[] = [100],
): Promise<(readonly BackendItem[])[]> {
  const pages: (readonly BackendItem[])[] = [];
  for (let cursor: string | undefined, turn = 0; turn === 0 || cursor !== undefined; turn++) {
    const limit = sizes[Math.min(turn, sizes.length - 1)] ?? 100;
    const page = await ask({ cursor, limit, asOf });
    if (page === undefined) throw new Error('there is no such resource');
    pages.push(page.items);
    cursor = page.next;
  }
  return pages;
}

/** Items as texts in an order of their own: a multiset to compare. */
export function sorted(items: readonly BackendItem[]): string[] {
  return items.map(({ list, json }) => `${list} ${json}`).sort();
}
