import { literal } from '../../core/duckdb/literals.js';
import { usageError } from '../../core/errors.js';
import { viewComment, views } from '../query/views.js';
import knownOrder from './known-order.sql';
import knownSettlement from './known-settlement.sql';
import type { LakeSession } from './lake-session.js';

/** Rows of each view that are listed. */
const mostRows = 200;

/**
 * The rows of `api_differences`, `settlement_differences` and `reconciliation` for an order or a settlement, each with what the view
 * says of its rows.
 *
 * @throws LedgerlakeError USAGE for neither or both ids, and for one that the lake lacks; SQL, STOPPED
 */
export async function explainDifference(
  session: LakeSession,
  { order, settlement }: { readonly order: string | undefined; readonly settlement: string | undefined },
  { seconds, signal }: { readonly seconds: number; readonly signal: AbortSignal },
): Promise<object> {
  const id = order ?? settlement;
  if (id === undefined || (order !== undefined && settlement !== undefined)) {
    throw usageError(`expected an order or a settlement, got ${id === undefined ? 'neither' : 'both'}`);
  }
  const limits = { rows: mostRows, seconds, signal };
  const known = await session.query(order === undefined ? knownSettlement : knownOrder, {
    ...limits,
    parameters: { id },
  });
  if (known.rows.length === 0) {
    const where = order === undefined ? 'a group_id or settlement_id' : 'an amazon_order_id';
    throw usageError(`expected ${where} of the lake, got ${JSON.stringify(id)}, which nothing in it has`);
  }
  const found = known.rows.map((row) =>
    Object.fromEntries(known.columns.map(({ name }, at) => [name, row[at] ?? null])),
  );
  const accounts = sqlTexts(found.map(({ account }) => account));
  const conditions =
    order === undefined
      ? {
          api_differences: `subject = 'settlement' AND id IN (${sqlTexts(found.map((row) => row['group_id']))})`,
          settlement_differences: `group_id IN (${sqlTexts(found.map((row) => row['group_id']))}) OR settlement_id IN (${sqlTexts(found.map((row) => row['settlement_id']))})`,
          reconciliation: 'true',
        }
      : {
          api_differences: `subject = 'order' AND id = ${literal(id)}`,
          settlement_differences: `order_id = ${literal(id)}`,
          reconciliation_events: `amazon_order_id = ${literal(id)}`,
        };
  const differences: object[] = [];
  for (const [view, condition] of Object.entries(conditions)) {
    const statement = `SELECT * FROM ${view} WHERE account IN (${accounts}) AND (${condition})`;
    differences.push({ view, about: viewComment(views.get(view) ?? ''), ...(await session.query(statement, limits)) });
  }
  return { ...(order === undefined ? { settlement } : { order }), found, differences };
}

/** Texts as a list in SQL; nulls are left out. */
function sqlTexts(cells: readonly unknown[]): string {
  const texts = cells.filter((cell) => typeof cell === 'string').map(literal);
  return texts.length === 0 ? 'NULL' : texts.join(', ');
}
