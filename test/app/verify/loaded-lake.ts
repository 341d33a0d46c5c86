import { cpSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { backfill } from '../../../src/app/load/backfill.js';
import type { LoadOptions } from '../../../src/app/load/run-settings.js';
import type { Clock } from '../../../src/core/clock.js';
import { startApiServer } from '../../../src/serve/http/server.js';
import type { Backend } from '../../../src/serve/served-apis.js';
import { HandClock } from '../../core/clock.js';
import { clockStart, range, smallBackend } from './small-backend.js';

export interface LoadedLake {
  readonly root: string;
  readonly clock: Clock;
  /** Another folder with the same bytes. */
  copy(): LoadedLake;
  remove(): void;
}

function lakeAt(root: string, top: string, clock: Clock): LoadedLake {
  return {
    root,
    clock,
    copy: () => {
      const other = mkdtempSync(join(tmpdir(), 'ledgerlake-copy-'));
      cpSync(root, join(other, 'lake'), { recursive: true });
      return lakeAt(join(other, 'lake'), other, clock);
    },
    remove: () => {
      rmSync(top, { recursive: true });
    },
  };
}

/** A lake that real runs have loaded from a backend over HTTP; several runs one after the other. */
export async function loadedLake(
  backend: Backend = smallBackend(),
  runs: readonly Partial<LoadOptions>[] = [{}],
  account = 'shop',
): Promise<LoadedLake> {
  const clock = new HandClock(clockStart);
  const top = mkdtempSync(join(tmpdir(), 'ledgerlake-lake-'));
  const root = join(top, 'lake');
  const server = await startApiServer({ backend, clock });
  try {
    for (const run of runs) {
      await backfill(
        {
          pipelines: [],
          lake: root,
          account,
          endpoint: server.url,
          refresh: false,
          rate: 1000,
          burst: 1000,
          orders: undefined,
          ...range,
          ...run,
        },
        { clock, signal: new AbortController().signal, emit: () => undefined },
      );
    }
  } finally {
    await server.close();
  }
  return lakeAt(root, top, clock);
}
