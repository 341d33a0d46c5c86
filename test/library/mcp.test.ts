import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { InMemoryTransport } from '@modelcontextprotocol/sdk/inMemory.js';
import { expect, test } from 'vitest';
import { backfill, createMcpServer, type McpServerOptions } from '../../src/index.js';
import { temporaryFolder } from '../app/lake-run.js';
import { clientOf } from '../app/mcp/served-lake.js';
import { from, servedShop, to } from './served.js';

test('a server over a lake answers over a transport, in the time zone and with the accounts of its options', async () => {
  const shop = await servedShop();
  await backfill({ ...shop, pipelines: ['financial-event-groups'], from, to });
  const { lake } = shop;
  const costs = join(await temporaryFolder(), 'costs.csv');
  await writeFile(costs, 'sku,from,unit_cost,currency\nA-1,2026-01-01,2.50,EUR\n');
  const server = await createMcpServer({ lake, accounts: ['shop'], timeZone: 'Asia/Tokyo', costs });
  const [ours, theirs] = InMemoryTransport.createLinkedPair();
  const { client, rows, call, close } = clientOf(new Client({ name: 'test', version: '1' }), () => server.close());
  await Promise.all([server.connect(ours), client.connect(theirs)]);
  expect(await rows('SELECT DISTINCT account, time_zone() FROM groups')).toEqual([['shop', 'Asia/Tokyo']]);
  expect(await rows('FROM unit_costs')).toEqual([['A-1', '2026-01-01', '2.500000', 'EUR']]);
  const { text } = await call('query', { sql: 'FROM sku_profit' });
  expect(JSON.parse(text)).toMatchObject({ rows: [] });
  expect(text).not.toContain('no unit costs');
  await close();
  for (const wrong of [
    { lake, account: 'shop' },
    { lake, accounts: ['other'] },
    { lake, accounts: 'shop' },
  ]) {
    await expect(createMcpServer(wrong as McpServerOptions)).rejects.toMatchObject({ code: 'USAGE' });
  }
  await expect(createMcpServer({ lake, accounts: ['other'] })).rejects.toThrow('expected `accounts` to be');
});
