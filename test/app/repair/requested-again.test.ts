import { readdirSync, readFileSync, truncateSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { ran, serving } from '../lake-run.js';
import { addOf, pathOf } from '../verify/damage.js';
import { loadedLake } from '../verify/loaded-lake.js';
import { range, smallBackend } from '../verify/small-backend.js';
import { verified } from '../verify/verified.js';
import { repaired } from './repaired.js';

test('of a settlement’s month repair requests, and the command of verify reads, only the days that were loaded', async () => {
  // The first loaded day is 20 February, the first of the settlement in its damaged file.
  const lake = await loadedLake();
  const { root, clock } = lake;
  try {
    truncateSync(pathOf(root, 'group_events', addOf(root, 'group_events', 'month=2025-02')), 100);
    const { problems } = await verified(lake);
    const command = problems.find(({ table }) => table === 'group_events')?.command;
    expect(command).toMatch(/ backfill group-events .* --from 2025-02-20 --to 2025-03-01 --refresh$/);

    expect(await repaired(lake)).toMatchObject({ code: 0 });
    const notes = readdirSync(join(root, '_requested')).map(
      (name) => JSON.parse(readFileSync(join(root, '_requested', name), 'utf8')) as { readonly ranges: unknown },
    );
    const requested = { command: 'backfill', pipeline: 'group-events' };
    expect(notes).toMatchObject([
      { ranges: [{ ...requested, from: '2025-02-20T00:00:00.000Z', to: '2025-03-01T00:00:00.000Z' }] },
    ]);
    const asked = (await verified(lake, true)).problems.filter(({ check }) => check === 'requested-ranges');
    expect(asked.map(({ problem }) => problem)).toEqual([
      '2025-02-20 to 2025-02-21 of group-events for shop is not loaded, though a backfill requested it',
    ]);

    const endpoint = await serving({ backend: smallBackend(), clock });
    await ran({ lake: root, endpoint, account: 'shop', ...range, from: '2025-02-20', to: '2025-02-21' }, { clock });
    expect(await verified(lake, true)).toMatchObject({ code: 0, problems: [] });
  } finally {
    lake.remove();
  }
});
