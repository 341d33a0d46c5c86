import { join } from 'node:path';
import { expect, test } from 'vitest';
import { messageOf } from '../../../../src/core/errors.js';
import { createSeller } from '../../../../src/emulator/seller/seller.js';
import { clockAt, database, ran, serving, temporaryFolder } from '../../../app/lake-run.js';
import { mutating } from '../api-v0/odd-answers.js';

const clock = clockAt('2025-06-01T00:05:00Z');
const range = { from: '2025-04-01', to: '2025-06-01', account: 'shop' };
const odd = ['..', 'x'.repeat(20_000), '../../etc/passwd', 'a\u0000\n\u001b[2J', '1&relatedIdentifierName=x', '😀'];

test('settlements that transactions name by ids that no service gives are left open, and the summaries of the others load', async () => {
  const backend = createSeller({ seed: 5, events: 200, days: 60, profile: 'plausible' }, clock);
  const upstream = await serving({ backend, clock });
  let renamed = 0;
  const asked: string[] = [];
  const endpoint = await mutating(upstream, (text, path) => {
    if (path.startsWith('/finances/2024-06-19/transactions')) {
      const named = /("relatedIdentifierName":"SETTLEMENT_ID","relatedIdentifierValue":)"[^"]*"/g;
      return text.replace(named, (all, name: string) => {
        // An empty one is none, and nothing is asked for.
        const id = ['', ...odd][renamed++];
        return id === undefined ? all : `${name}${JSON.stringify(id)}`;
      });
    }
    const id = new URL(path, upstream).searchParams.get('relatedIdentifierValue') ?? '';
    asked.push(id);
    const message = 'relatedIdentifierValue is malformed: it must be an identifier.';
    const body = JSON.stringify({ errors: [{ code: 'InvalidInput', message }] });
    return odd.includes(id) ? { status: 400, body } : text;
  });
  const lake = join(await temporaryFolder(), 'lake');
  const load = async (): Promise<unknown> =>
    ran({ ...range, lake, endpoint, pipelines: ['settlement-summaries'] }, { clock }).catch((error: unknown) => error);
  const failure = await load();
  expect(failure).toMatchObject({ code: 'INCOMPLETE', exitCode: 1 });
  expect(messageOf(failure)).toMatch(/^left open settlement-summaries settlement .*, and 5 more: /s);
  expect(messageOf(failure).length).toBeLessThan(1000);
  expect(asked.filter((id) => id === '' || id.length > 2048)).toEqual([]);

  const duckdb = await database(lake, clock);
  const [row] = await duckdb.rows(
    'SELECT (SELECT count(DISTINCT settlement_id) FROM transactions)::INT AS named, ' +
      '(SELECT count(*) FROM settlement_summaries)::INT AS loaded',
  );
  expect(row?.['loaded']).toBeGreaterThan(3);
  expect(row).toEqual({ named: Number(row?.['loaded']) + odd.length, loaded: row?.['loaded'] });
});
