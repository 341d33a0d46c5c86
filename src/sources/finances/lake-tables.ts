import { tablesOf, type Table } from '../../core/columns/table.js';
import { financesApis } from './finances-apis.js';
import { eventHistory } from './model/tables.js';
import { settlementReportTables } from './settlement-reports/report-tables.js';

/** Every table that a pipeline or an import of this package fills. */
export const tables: readonly Table[] = [
  ...financesApis.flatMap((api) => api.tables),
  ...tablesOf(settlementReportTables),
  eventHistory,
];
