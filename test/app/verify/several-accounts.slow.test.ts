import { rmSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { clock, shopsTemplate, type ShopsTemplate } from '../two-shops.js';
import { ran } from '../lake-run.js';
import { open } from '../maintenance/small-lake.js';
import { verified, type Verified } from './verified.js';

let shops: ShopsTemplate;
beforeAll(async () => {
  shops = await shopsTemplate();
});
afterAll(() => shops.close());

/** The files of a table that one shop has, as paths within the lake. */
async function filesOf(lake: string, table: string, account: string): Promise<string[]> {
  const paths = (await open(lake, clock)).files().map((file) => file.lakePath);
  return paths.filter((path) => path.startsWith(`${table}/account=${account}/`));
}

test.each(['events', 'transactions', 'groups'])(
  'a lost file of %s is a problem of its account alone, which the printed command mends',
  async (table) => {
    const { lake, endpoint } = await shops.copy();
    const before = await verified({ root: lake, clock });
    const [path = ''] = await filesOf(lake, table, 'shop-a');
    rmSync(join(lake, path));
    const after = await verified({ root: lake, clock });
    const known = new Set(before.problems.map((problem) => JSON.stringify(problem)));
    const added = after.problems.filter((problem) => !known.has(JSON.stringify(problem)));
    expect(added).toMatchObject([{ check: 'file-bytes', file: path, kind: 'lake' }]);
    const ofOther = ({ problems }: Verified) => problems.filter(({ file }) => file.includes('account=shop-b'));
    expect(ofOther(after)).toEqual(ofOther(before));
    // What is compared of the other account doesn't depend on the damage.
    const checked = (check: string, { checks }: Verified) => checks.find((one) => one.check === check)?.checked ?? 0;
    for (const check of ['group-totals', 'date-against-group', 'both-apis']) {
      expect(checked(check, after), check).toBeGreaterThanOrEqual(checked(check, before) / 2);
    }
    const words = (added[0]?.command ?? '').split(' ');
    const given = (name: string): string => words[words.indexOf(`--${name}`) + 1] ?? '';
    expect(words.slice(0, 2)).toEqual(['ledgerlake', 'backfill']);
    const range = { from: given('from'), to: given('to'), account: given('account') };
    expect(range.account).toBe('shop-a');
    const refresh = words.includes('--refresh');
    await ran({ lake, endpoint: endpoint('shop-a'), pipelines: [words[2] ?? ''], refresh, ...range }, { clock });
    expect(await verified({ root: lake, clock })).toMatchObject({ problems: before.problems });
  },
);
