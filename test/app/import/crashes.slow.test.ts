import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { messageOf } from '../../../src/core/errors.js';
import { openStore } from '../../../src/lake/store/open-store.js';
import { clockAt, database, temporaryFolder } from '../lake-run.js';
import { failingStore } from '../maintenance/failing-store.js';
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
