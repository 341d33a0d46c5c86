import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { InMemoryTransport } from '@modelcontextprotocol/sdk/inMemory.js';
import { expect, test } from 'vitest';
import { backfill, createMcpServer, type McpServerOptions } from '../../src/index.js';
import { clientOf } from '../app/mcp/served-lake.js';
import { from, servedShop, to } from './served.js';

test('a server over a lake answers over a transport, in the time zone and with the accounts of its options', async () => {
  const shop = await servedShop();
  await backfill({ ...shop, pipelines: ['financial-event-groups'], from, to });
  const { lake } = shop;
  const server = await createMcpServer({ lake, accounts: ['shop'], timeZone: 'Asia/Tokyo' });
  const [ours, theirs] = InMemoryTransport.createLinkedPair();
  const { client, rows, close } = clientOf(new Client({ name: 'test', version: '1' }), () => server.close());
  await Promise.all([server.connect(ours), client.connect(theirs)]);
  expect(await rows('SELECT DISTINCT account, time_zone() FROM groups')).toEqual([['shop', 'Asia/Tokyo']]);
  await close();
  for (const wrong of [
    { lake, account: 'shop' },
    { lake, accounts: ['other'] },
    { lake, accounts: 'shop' },
  ]) {
    await expect(createMcpServer(wrong as McpServerOptions)).rejects.toMatchObject({ code: 'USAGE' });
  }
});
