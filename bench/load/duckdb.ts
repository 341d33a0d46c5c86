import { DuckDBInstance } from '@duckdb/node-api';
import { join } from 'node:path';
import { attributes, entrySelects, listsByRecord, shapeOf, typeOf } from './entries-sql.js';

const window = "TIMESTAMPTZ '2025-01-01 00:00:00Z' AS window_start, TIMESTAMPTZ '2025-02-01 00:00:00Z' AS window_end";
const id = 'substr(sha256(event_list || chr(0) || raw), 1, 32)';
const written = '(FORMAT parquet, COMPRESSION zstd, ROW_GROUP_SIZE 131072)';

/** The records, each with the name of the table that holds its events parsed, and what its lists are. */
const parts = [...listsByRecord()].map(([record, lists], number) => ({ record, lists, parsed: `t${number}` }));

/** Bodies read as JSON, then events parsed once each with the fixed shape of their record: the way that measured best. */
export async function loadFromJson(input: string, output: string): Promise<void> {
  await run([
    `CREATE TEMP TABLE ev AS SELECT ${id} AS event_id, event_list, row_number() OVER () - 1 AS position, raw FROM (
       SELECT event_list, unnest(raws)::VARCHAR AS raw FROM (
         SELECT unnest(map_keys(m)) AS event_list, unnest(map_values(m)) AS raws FROM (
           SELECT from_json(json->'$.payload.FinancialEvents', '"MAP(VARCHAR, JSON[])"') AS m
           FROM read_json_objects('${input}/*.ndjson', format = 'newline_delimited'))))`,
    ...parts.map(
      ({ record, lists, parsed }) =>
        `CREATE TEMP TABLE ${parsed} AS SELECT event_id, event_list, position, ${window},
           from_json(raw, '${JSON.stringify(shapeOf(record))}') AS s
         FROM ev WHERE event_list IN (${lists.map((list) => `'${list}'`).join(', ')})`,
    ),
    copyEvents(
      output,
      `SELECT ev.raw, p.* FROM ev JOIN (${parts.map(({ parsed }) => parsedEvents(parsed)).join(' UNION ALL ')}) AS p USING (position)`,
    ),
    copyEntries(output),
  ]);
}

/** The columns of the bodies named with their types; an event's bytes are gone then, and it is written again as JSON. */
export async function loadReadJson(input: string, output: string): Promise<void> {
  const fields = parts.flatMap(({ record, lists }) => lists.map((list) => `"${list}" ${typeOf(shapeOf(record))}[]`));
  const columns = `{payload: 'STRUCT("FinancialEvents" STRUCT(${fields.join(', ')}))'}`;
  await run([
    `CREATE TEMP TABLE pages AS SELECT payload."FinancialEvents" AS e
     FROM read_json('${input}/*.ndjson', format = 'newline_delimited', columns = ${columns})`,
    ...parts.map(({ lists, parsed }) => {
      const each = lists.map((list) => `SELECT '${list}' AS event_list, unnest(e."${list}") AS s FROM pages`);
      return `CREATE TEMP TABLE ${parsed} AS SELECT ${id} AS event_id, *, row_number() OVER () - 1 AS position, ${window}
        FROM (SELECT *, to_json(s)::VARCHAR AS raw FROM (${each.join(' UNION ALL ')}))`;
    }),
    copyEvents(output, parts.map(({ parsed }) => parsedEvents(parsed, 'raw, ')).join(' UNION ALL ')),
    copyEntries(output),
  ]);
}

function parsedEvents(parsed: string, more = ''): string {
  const record = parts.find((part) => part.parsed === parsed)?.record;
  if (record === undefined) throw new Error(`no record for ${parsed}`);
  return `SELECT ${more}event_id, event_list, position, window_start, window_end, ${attributes(record)} FROM ${parsed}`;
}

function copyEvents(output: string, rows: string): string {
  return `COPY (SELECT event_id, event_id AS content_hash, event_list, posted_at,
      coalesce(posted_at, window_start) AS effective_at, amazon_order_id, seller_order_id, marketplace, store,
      NULL::VARCHAR AS group_id, window_start, window_end, NULL::VARCHAR AS requested_order_id, position, raw
    FROM (${rows})) TO '${join(output, 'events.parquet')}' ${written}`;
}

function copyEntries(output: string): string {
  const each = parts.map(({ record, parsed }) => entrySelects(record, parsed, parsed));
  return `COPY (WITH ${each.flatMap(({ ctes }) => ctes).join(', ')}
    ${each.flatMap(({ selects }) => selects).join(' UNION ALL ')}) TO '${join(output, 'entries.parquet')}' ${written}`;
}

async function run(statements: readonly string[]): Promise<void> {
  const instance = await DuckDBInstance.create(':memory:', { threads: '2' });
  const connection = await instance.connect();
  await connection.run("SET TimeZone = 'UTC'");
  for (const statement of statements) await connection.run(statement);
  connection.closeSync();
  instance.closeSync();
}
