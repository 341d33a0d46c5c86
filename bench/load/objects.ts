import { createHash } from 'node:crypto';
import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { tableFromJSON, tableToIPC } from 'apache-arrow';
import { Table, writeParquet } from 'parquet-wasm';
import { dayFiles } from './day-files.js';

type Json = Record<string, unknown>;
type Row = Record<string, unknown>;

/** As people write it first: JSON.parse, an object for each row, `tableFromJSON`, `writeParquet` with its defaults. */
export async function loadObjects(input: string, output: string): Promise<void> {
  const events: Row[] = [];
  const entries: Row[] = [];
  for (const { path } of await dayFiles(input)) {
    for (const line of (await readFile(path, 'utf8')).split('\n')) {
      if (line === '') continue;
      const { payload } = JSON.parse(line) as { payload: { FinancialEvents: Record<string, Json[]> } };
      for (const [list, those] of Object.entries(payload.FinancialEvents)) {
        for (const event of those) addEvent(list, event, events, entries);
      }
    }
  }
  for (const [name, rows] of Object.entries({ events, entries })) {
    const table = Table.fromIPCStream(tableToIPC(tableFromJSON(rows), 'stream'));
    await writeFile(join(output, `${name}.parquet`), writeParquet(table));
  }
}

function addEvent(list: string, event: Json, events: Row[], entries: Row[]): void {
  const raw = JSON.stringify(event);
  const event_id = createHash('sha256').update(`${list}\0${raw}`).digest('hex').slice(0, 32);
  const shared = {
    event_id,
    event_list: list,
    posted_at: event['PostedDate'] ?? event['postedDate'] ?? '',
    amazon_order_id: event['AmazonOrderId'] ?? '',
    marketplace: event['MarketplaceName'] ?? '',
  };
  const more = { seller_order_id: event['SellerOrderId'] ?? '', store: event['StoreName'] ?? '' };
  events.push({ ...shared, content_hash: event_id, ...more, position: events.length, raw });
  let entry = 0;
  const walk = (value: unknown, path: string, holder: Json, item: Json): void => {
    if (Array.isArray(value)) {
      for (const element of value as Json[]) walk(element, `${path}[]`, element, item === event ? element : item);
    } else if (typeof value === 'object' && value !== null) {
      const object = value as Json;
      if ('CurrencyAmount' in object) {
        entries.push({
          ...shared,
          entry: entry++,
          path,
          sku: item['SellerSKU'] ?? '',
          order_item_id: item['OrderItemId'] ?? '',
          quantity: item['QuantityShipped'] ?? 0,
          name: holder['ChargeType'] ?? holder['FeeType'] ?? '',
          amount: object['CurrencyAmount'],
          currency: object['CurrencyCode'],
        });
      } else {
        for (const [key, inner] of Object.entries(object))
          walk(inner, path === '' ? key : `${path}.${key}`, object, item);
      }
    }
  };
  walk(event, '', event, event);
}
