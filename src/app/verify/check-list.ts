import type { CheckDefinition } from './common/check.js';
import { amountsCheck } from './checks/amounts.js';
import { bothApisCheck } from './checks/both-apis.js';
import { catalogChainCheck } from './checks/catalog-chain.js';
import { publishedLogsCheck } from './checks/published-logs.js';
import { dateAgainstGroupCheck } from './checks/date-against-group.js';
import { derivedFilesCheck } from './checks/derived-files.js';
import { eventDatesCheck } from './checks/event-dates.js';
import { eventIdsCheck } from './checks/event-ids.js';
import { fileBytesCheck } from './checks/file-bytes.js';
import { groupTotalsCheck } from './checks/group-totals.js';
import { windowsCheck } from './checks/windows.js';
import { logTagsCheck } from './checks/log-tags.js';
import { netSumsCheck } from './checks/net-sums.js';
import { netProceedsCheck } from './checks/net-proceeds.js';
import { paidTotalsCheck } from './checks/paid-totals.js';
import { parquetCheck } from './checks/parquet.js';
import { partitionsCheck } from './checks/partitions.js';
import { positionsCheck } from './checks/positions.js';
import { rawColumnsCheck } from './checks/raw-columns.js';
import { reportAmountsCheck } from './checks/report-amounts.js';
import { reportLinesCheck } from './checks/report-lines.js';
import { reportTotalsCheck } from './checks/report-totals.js';
import { requestedRangesCheck } from './checks/requested-ranges.js';
import { rolesCheck } from './checks/roles.js';
import { rowCountsCheck } from './checks/row-counts.js';
import { statisticsCheck } from './checks/statistics.js';
import { uniqueIdsCheck } from './checks/unique-ids.js';
import { unnamedFilesCheck } from './checks/unnamed-files.js';
import { unreadEventsCheck } from './checks/unread-events.js';

/** Every check, in the order of the certificate, and of the work of each stage. */
export const checks: readonly CheckDefinition[] = [
  catalogChainCheck,
  publishedLogsCheck,
  logTagsCheck,
  derivedFilesCheck,
  windowsCheck,
  unreadEventsCheck,
  requestedRangesCheck,
  fileBytesCheck,
  unnamedFilesCheck,
  parquetCheck,
  rowCountsCheck,
  statisticsCheck,
  partitionsCheck,
  positionsCheck,
  eventIdsCheck,
  rawColumnsCheck,
  amountsCheck,
  rolesCheck,
  uniqueIdsCheck,
  netSumsCheck,
  eventDatesCheck,
  groupTotalsCheck,
  paidTotalsCheck,
  netProceedsCheck,
  reportTotalsCheck,
  reportAmountsCheck,
  reportLinesCheck,
  dateAgainstGroupCheck,
  bothApisCheck,
];
