import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { messageOf } from '../../../src/core/errors.js';
import { openStore } from '../../../src/lake/store/open-store.js';
import type { Store } from '../../../src/lake/store/store.js';
import { clockAt, database, temporaryFolder } from '../lake-run.js';
import { failingStore, interruptedStore } from '../maintenance/failing-store.js';
import { shipment } from '../load/backend-items.js';
import { found, verified } from '../verify/verified.js';
import { eventsBody, fileOf, imported, value } from './imported.js';

const clock = clockAt('2025-04-20T00:00:00Z');

test('an import of several files that dies at any change is completed by the same command', async () => {
  const pages = Array.from({ length: 3 }, (_, file) =>
    eventsBody(
      Array.from({ length: 5 }, (__, at) =>
        // Days that two files share, and one of each alone.
        shipment(new Date(Date.UTC(2025, 0, 20 + file + (at % 2), at)).toISOString(), `111-0000000-${file}${at}`),
      ),
    ),
  );
  const files = await Promise.all(pages.map((page) => fileOf([page])));
  const events = 'SELECT count(*) FROM events';
  for (let dieAt = 1; ; dieAt++) {
    const lake = { root: await temporaryFolder(), clock };
    const store = failingStore(openStore(lake.root), dieAt);
    const { failure } = await imported(lake, files, { store }).catch((error: unknown) => ({ failure: error }));
    if (failure === undefined) {
      // What is left is the note of the run, which may be missing.
      expect(dieAt).toBeGreaterThan(9);
      break;
    }
    expect(messageOf(failure), `change ${dieAt}`).toContain(`died at change ${dieAt}`);
    await rm(join(lake.root, '_runs'), { recursive: true, force: true });
    expect((await imported(lake, files)).failure, `change ${dieAt}, after`).toBeUndefined();
    expect(await value(await database(lake.root, clock), events), `change ${dieAt}, after`).toBe('15');
    expect(found(await verified(lake)), `change ${dieAt}, after`).toEqual([]);
  }
});

/** A store whose folder can't be listed. */
function unlistable(root: string, unread: string): Store {
  const store = openStore(root);
  const list: Store['list'] = (folder, after) => {
    if (folder === unread) throw new Error(`${folder} can't be listed`);
    return store.list(folder, after);
  };
  return {
    ...interruptedStore(
      store,
      () => false,
      () => Promise.resolve(),
    ),
    list,
  };
}

test.each(['_last-run', 'events/account=demo'])(
  'an import that can not list %s has committed its rows, names the file that it left out, and ends as a run',
  async (unread) => {
    const root = await temporaryFolder();
    const page = eventsBody([shipment('2025-01-20T00:00:00Z', '111-0000000-0000000')]);
    const files = [await fileOf([page]), await fileOf(['no body'], 'broken.ndjson')];
    // The folder of the table is there.
    await imported({ root, clock }, [await fileOf([eventsBody([shipment('2025-01-18T00:00:00Z', '111-0000000-1')])])]);
    const { failure, logged, summary } = await imported({ root, clock }, files, { store: unlistable(root, unread) });
    expect(messageOf(failure)).toMatch(/left out 1 of 2 files: .*broken\.ndjson/);
    if (unread === '_last-run') expect(logged).toContain(`${unread} can't be listed`);
    expect(summary).toMatchObject({ status: 'failed', pipelines: { 'financial-events': { rows: { events: 1 } } } });
    expect(await value(await database(root, clock), 'SELECT count(*) FROM events')).toBe('2');
  },
);
