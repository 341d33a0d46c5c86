import { readParquet } from '../../core/duckdb/literals.js';
import { loadKeyFor } from '../../lake/catalog/load-key.js';
import { settlementLines, settlementReports } from '../../sources/finances/settlement-reports/report-tables.js';
import type { LakePages } from '../lake/lake-pages.js';
import { rowsAfter } from '../lake/stored-rows.js';
import type { ReportBackend, SettlementReport } from './report-backend.js';

/** More rows than a settlement has. */
const allRows = 10_000_000;

/** The settlement reports of a lake, each with a document of its own. A report is as old as the end of its settlement. */
export function storedReports(pages: LakePages): ReportBackend {
  const reports = pages.filesOf(settlementReports, 'started_at');
  const lines = pages.filesOf(settlementLines, 'started_at');

  /** The texts of all rows of a statement, in the order of its positions. */
  async function textsOf(
    table: typeof reports,
    settlementId: string | undefined,
    columns: string,
  ): Promise<readonly string[]> {
    const query = { cursor: undefined, limit: allRows, asOf: Infinity };
    const { items } = await pages.page(query, () => {
      const { all } = table;
      const files = settlementId === undefined ? all : table.withLoadKey(loadKeyFor('settlement', settlementId));
      return pages.ofTable(JSON.stringify([columns, settlementId]), table, files, (addresses, page) => {
        const where = settlementId === undefined ? '' : ' WHERE settlement_id = $1';
        const sql = `SELECT ${columns}, '' AS list, -1::BIGINT AS "window" FROM ${readParquet(addresses)}${where}`;
        return rowsAfter(sql, settlementId === undefined ? [] : [settlementId], page);
      });
    });
    return items.map(({ json }) => json);
  }

  return {
    reports: async (asOf) => {
      const instants = 'coalesce(epoch_us(ended_at), epoch_us(started_at), 0) AS instant, settlement_id AS key';
      const bounds = 'coalesce(epoch_ms(started_at), 0), coalesce(epoch_ms(ended_at), epoch_ms(started_at), 0)';
      const raw = `concat_ws(' ', ${bounds}, settlement_id) AS raw`;
      const rows = await textsOf(reports, undefined, `${instants}, 0::BIGINT AS position, ${raw}`);
      return rows.map(storedReport).filter(({ createdAt }) => createdAt <= asOf);
    },
    documentOf: async ({ id }) => {
      const header = await textsOf(
        reports,
        id,
        `0::BIGINT AS instant, settlement_id AS key, 0::BIGINT AS position, raw`,
      );
      const amounts = await textsOf(lines, id, 'line AS instant, event_id AS key, line AS position, raw');
      return { text: [...header, ...amounts, ''].join('\n'), encoding: 'utf-8' };
    },
  };
}

function storedReport(row: string): SettlementReport {
  const [start = '', end = '', ...id] = row.split(' ');
  const settlementId = id.join(' ');
  return {
    id: settlementId,
    documentId: settlementId,
    // A report doesn't name the marketplaces that it is of.
    marketplaceIds: [],
    start: Number(start),
    end: Number(end),
    createdAt: Number(end),
    doneAt: Number(end),
    isCompressed: false,
  };
}
