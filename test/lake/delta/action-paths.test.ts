import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { LedgerlakeError } from '../../../src/core/errors.js';
import type { Add } from '../../../src/lake/delta/actions.js';
import { checkActionPaths } from '../../../src/lake/delta/action-paths.js';

const good: Add = {
  path: 'account=shop/month=2025-06/window-0123456789abcdef.parquet',
  partitionValues: { account: 'shop', month: '2025-06' },
  size: 1,
  modificationTime: 0,
  dataChange: true,
};
const place = 'lake/events/_delta_log, version 3';

function refusalOf(work: () => void): LedgerlakeError | undefined {
  try {
    work();
    return undefined;
  } catch (error) {
    if (error instanceof LedgerlakeError) return error;
    throw error;
  }
}

const stray = [
  '../entries/account=shop/month=2025-06/x.parquet',
  '..%2f..%2fother/x.parquet',
  '%2e%2e/x.parquet',
  'account=shop/month=2025-06/../../../x.parquet',
  'account=shop/..%2F..%2F..%2Fetc/passwd',
  '/etc/passwd',
  '%2Fetc%2Fpasswd',
  's3://other-bucket/x.parquet',
  'file:///etc/passwd',
  'account=shop//x.parquet',
  'account=shop\\..\\x.parquet',
  'account=shop%5C..%5Cx.parquet',
  'x%00.parquet',
  'x%0a.parquet',
  '%',
  '%zz',
  '%c3',
  '',
  '.',
  '_delta_log/00000000000000000000.json',
  'account=shop/_hidden/x.parquet',
];

describe('a path of the log', () => {
  test.each(stray)('is refused in an add and in a remove where it is %j', (path) => {
    for (const action of [
      { add: { ...good, path, partitionValues: {} } },
      { remove: { path, deletionTimestamp: 0, dataChange: false } },
    ]) {
      const refusal = refusalOf(() => {
        checkActionPaths(action, place);
      });
      expect(refusal).toMatchObject({ code: 'LAKE_LOG' });
      expect(refusal?.message).toContain(place);
      expect(refusal?.message).toContain(JSON.stringify(path));
      expect(refusal?.message).not.toContain('\n');
    }
  });

  test('never leads out of its table once it is decoded, whatever it is', () => {
    const part = fc.constantFrom('..', '.', '/', '%2f', '%2e', '\\', 'a', 'account=b', '_x', '%25', '\0', 's3:', '%5c');
    fc.assert(
      fc.property(fc.array(part, { minLength: 1, maxLength: 8 }), (parts) => {
        const path = parts.join('');
        const refusal = refusalOf(() => {
          checkActionPaths({ add: { ...good, path, partitionValues: {} } }, place);
        });
        if (refusal !== undefined) return;
        const url = new URL(`file:///lake/table/${path.replaceAll('?', '')}`);
        expect(decodeURIComponent(path).split('/')).not.toContain('..');
        expect(url.pathname.startsWith('/lake/table/')).toBe(true);
      }),
      { numRuns: 2000 },
    );
  });

  test('may be any that this program and other writers give', () => {
    const names = [
      good,
      { ...good, path: 'account=shop/month=2025-06/part-00000-ab%20c.snappy.parquet' },
      {
        ...good,
        path: 'account=a%253Ab/month=2025-06/x.parquet',
        partitionValues: { account: 'a:b', month: '2025-06' },
      },
      { ...good, path: 'account=a%25b/month=2025-06/x.parquet', partitionValues: { account: 'a%b', month: '2025-06' } },
      { ...good, path: 'x.parquet', partitionValues: {} },
      { ...good, path: 'a..b/x.parquet', partitionValues: {} },
      { ...good, partitionValues: { account: 'shop', month: null } },
      { ...good, tags: { derived: '["entries/account=shop/month=2025-06/x.parquet"]' } },
    ];
    for (const add of names)
      expect(
        refusalOf(() => {
          checkActionPaths({ add }, place);
        }),
      ).toBeUndefined();
  });

  test('is refused in the folder of another account than its entry names; of another month `verify` tells', () => {
    const check = (partitionValues: Add['partitionValues']) =>
      refusalOf(() => {
        checkActionPaths({ add: { ...good, partitionValues } }, place);
      });
    expect(check({ account: 'other', month: '2025-06' })?.message).toMatch(/its entry has account=other/);
    expect(check({ account: 'shop', month: '2025-07' })).toBeUndefined();
  });

  test('is refused in a tag that names the main file of another account', () => {
    const check = (path: string, account: string, partitionValues: Add['partitionValues']) =>
      refusalOf(() => {
        checkActionPaths({ add: { ...good, path: 'x', partitionValues, tags: { account, main: path } } }, place);
      });
    const theirs = 'entries/account=other/month=2025-06/x.parquet';
    expect(check(theirs, 'shop', { account: 'shop' })?.message).toMatch(/account=other.*its entry has account=shop/);
    expect(check(theirs, 'shop', {})?.message).toMatch(/its entry has account=shop/);
    expect(check(theirs.replace('x.', '%.'), 'shop', {})?.message).toMatch(/its entry has account=shop/);
    expect(check(theirs, 'other', {})).toBeUndefined();
    expect(check('entries/account=a%3Ab/month=2025-06/x.parquet', 'a:b', {})).toBeUndefined();
  });

  test.each(stray.filter((path) => !path.includes('%')))('is refused in a tag that names a main file as %j', (path) => {
    const add = { ...good, tags: { main: path } };
    expect(
      refusalOf(() => {
        checkActionPaths({ add }, place);
      }),
    ).toMatchObject({ code: 'LAKE_LOG' });
  });
});

test('a removal may name another account no more than an entry may', () => {
  const { path, partitionValues } = good;
  const removal = { path, deletionTimestamp: 0, dataChange: true };
  const refused = refusalOf(() => {
    checkActionPaths({ remove: { ...removal, partitionValues: { ...partitionValues, account: 'other' } } }, place);
  });
  expect(refused?.code).toBe('LAKE_LOG');
  for (const remove of [removal, { ...removal, partitionValues }]) {
    expect(() => {
      checkActionPaths({ remove }, place);
    }).not.toThrow();
  }
});
