import { describe, expect, test } from 'vitest';
import { event } from '../../serve/http/array-backend.js';
import { type Client, firstToken, pages, paths, startClient } from '../../serve/http/client.js';

const at = Date.parse('2025-06-01');
const ten = Array.from({ length: 10 }, (_, index) => event(at + index, index, { group: 'G' }));
const unexplained = 'Request was not valid or data requested exceeds data retention period.';
const refusal = { status: 400, code: 'InvalidInput', message: unexplained };

describe('page-limit', () => {
  test('refuses a larger page, the default one too, and one behind a token', async () => {
    const client = await startClient(ten, { faults: { 'page-limit': { amount: 5 } } });
    expect(await client.get(paths.events)).toMatchObject(refusal);
    expect(await client.get(paths.events, { MaxResultsPerPage: 6 })).toMatchObject(refusal);
    const token = await firstToken(client, paths.events, { MaxResultsPerPage: 5 });
    expect(await client.get(paths.events, { NextToken: token, MaxResultsPerPage: 6 })).toMatchObject(refusal);
    expect((await client.get(paths.events, { NextToken: token })).ids).toEqual([5, 6, 7, 8, 9]);
    expect(client.server.counts.faults('page-limit')).toBe(3);
  });
});

describe('body-limit', () => {
  test('refuses a page whose body is larger, and takes it in smaller ones', async () => {
    // Long enough that a page's token is nothing beside them.
    const long = ten.map((item, id) => ({ ...item, json: `{"id":${id},"text":"${'x'.repeat(1_000)}"}` }));
    const limited = (amount: number) => startClient(long, { faults: { 'body-limit': { amount } } });
    const whole = await (await startClient(long)).get(paths.events);
    const bytes = Buffer.byteLength(whole.text);
    expect((await (await limited(bytes)).get(paths.events)).text).toBe(whole.text);
    const client = await limited(bytes - 1);
    expect(await client.get(paths.events)).toMatchObject(refusal);
    expect((await client.get(paths.events, { MaxResultsPerPage: 5 })).ids).toEqual([0, 1, 2, 3, 4]);
  });
});

describe('window-limit', () => {
  const limited = () => startClient(ten, { faults: { 'window-limit': {} } });
  const ask = ({ get }: Client, PostedAfter: string, PostedBefore?: string) =>
    get(paths.events, { PostedAfter, PostedBefore });

  test('refuses a window of more than 14 days', async () => {
    const client = await limited();
    expect((await ask(client, '2025-06-01', '2025-06-15')).ids).toHaveLength(10);
    expect(await ask(client, '2025-06-01', '2025-06-15T00:00:00.001Z')).toMatchObject(refusal);
  });

  test('of one without an end as well', async () => {
    expect(await ask(await limited(), '2025-05-01')).toMatchObject(refusal);
  });

  test('has no say in other operations', async () => {
    const query = { FinancialEventGroupStartedAfter: '2025-01-01', FinancialEventGroupStartedBefore: '2025-06-01' };
    expect((await (await limited()).get(paths.groups, query)).status).toBe(200);
  });
});

describe('chain-limit', () => {
  test('refuses the page after the last one that a chain may have; the token stays what it was', async () => {
    const client = await startClient(ten, { faults: { 'chain-limit': { amount: 3 } } });
    const replies = await pages(client, paths.events, { MaxResultsPerPage: 2 });
    expect(replies.map(({ status }) => status)).toEqual([200, 200, 200, 400]);
    expect(replies[3]).toMatchObject(refusal);
    const third = replies[2]?.token;
    expect(await client.get(paths.events, { NextToken: third })).toMatchObject(refusal);
  });
});

describe('group-limit', () => {
  test('refuses a group at the page that goes beyond', async () => {
    const client = await startClient(ten, { faults: { 'group-limit': { amount: 7 } } });
    const replies = await pages(client, paths.ofGroup('G'), { MaxResultsPerPage: 3 });
    expect(replies.map(({ status, ids }) => [status, ids.length])).toEqual([
      [200, 3],
      [200, 3],
      [400, 0],
    ]);
    expect(replies[2]).toMatchObject(refusal);
    expect((await pages(client, paths.events, { MaxResultsPerPage: 3 })).flatMap(({ ids }) => ids)).toHaveLength(10);
  });

  test('takes one that is just as large', async () => {
    const client = await startClient(ten, { faults: { 'group-limit': { amount: 10 } } });
    expect((await pages(client, paths.ofGroup('G'), { MaxResultsPerPage: 3 })).at(-1)?.status).toBe(200);
  });
});

describe('token-expired', () => {
  test('refuses a token of which the service says that it was too old, and it stays dead', async () => {
    const client = await startClient(ten, { faults: { 'token-expired': { times: 1 } } });
    const dead = await firstToken(client, paths.events, { MaxResultsPerPage: 4 });
    for (let tries = 0; tries < 3; tries++) {
      expect(await client.get(paths.events, { NextToken: dead })).toMatchObject({
        ...refusal,
        message: 'Token is not valid, token duration is 25 minutes.',
      });
    }
    client.clock.move(1);
    const replies = await pages(client, paths.events, { MaxResultsPerPage: 4 });
    expect(replies.flatMap(({ ids }) => ids)).toHaveLength(10);
  });
});
