import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { statementsOf } from '../../../src/core/duckdb/sql-statements.js';
import { LedgerlakeError } from '../../../src/core/errors.js';
import { decodeActions, encodeActions } from '../../../src/lake/delta/actions.js';
import { exportIceberg } from '../../../src/lake/iceberg/export-lake.js';
import { exportSymlinks } from '../../../src/lake/symlinks/export-symlinks.js';
import { redshiftStatements } from '../../../src/lake/symlinks/redshift-tables.js';
import { compacted, copied, rebuilt } from '../../app/maintenance/kept-lake.js';
import { open, smallLake } from '../../app/maintenance/small-lake.js';
import { setClock } from '../../app/load/synced.js';
import { verified } from '../../app/verify/verified.js';
import { oddActions } from './odd-actions.js';

const clock = setClock('2026-03-15T12:00:00Z');
let small: Awaited<ReturnType<typeof smallLake>>;
beforeAll(async () => {
  small = await smallLake(clock);
});
afterAll(() => small.remove());

const works: Readonly<Record<string, (lake: string) => Promise<unknown>>> = {
  verify: (root) => verified({ root, clock }),
  'export iceberg': async (lake) => exportIceberg(await open(lake, clock), clock),
  'export symlinks': async (lake) => exportSymlinks(await open(lake, clock)),
  'export symlinks --ddl': async (lake) => redshiftStatements(await open(lake, clock), 'ledgerlake'),
  compact: (lake) => compacted({ lake }, { clock }),
  rebuild: (lake) => rebuilt({ lake }, { clock }),
};

/** A lake whose last commit of `events` is changed. */
async function changed(change: (typeof oddActions)[number]['change']): Promise<string> {
  const lake = await copied(small.lake);
  const log = join(lake, 'events', '_delta_log');
  const name = readdirSync(log).findLast((of) => /^\d{20}\.json$/.test(of)) ?? '';
  const id = { table: 'events', version: Number(name.slice(0, 20)) };
  const actions = decodeActions(readFileSync(join(log, name)), name, id).flatMap(change);
  writeFileSync(join(log, name), encodeActions(actions, id));
  return lake;
}

test.each(oddActions.filter(({ name }) => name.endsWith('SQL')))(
  '$name: stays a name in the tables of Redshift',
  async ({ change }) => {
    const lake = await changed(change);
    let statements: string[] = [];
    try {
      statements = redshiftStatements(await open(lake, clock), 'ledgerlake');
    } catch (error) {
      expect(error).toBeInstanceOf(LedgerlakeError);
      return;
    }
    expect(statements.join('\n')).toContain('COPY (SELECT 1)');
    for (const statement of statements) expect(statementsOf(statement)).toHaveLength(1);
  },
);

test.each(oddActions)('$name: each command ends well or with an error that says what is wrong', async ({ change }) => {
  const lake = await changed(change);
  for (const [work, run] of Object.entries(works)) {
    const error: unknown = await run(lake).then(
      () => undefined,
      (reason: unknown) => reason,
    );
    if (error !== undefined) expect([work, error]).toEqual([work, expect.any(LedgerlakeError)]);
  }
});
