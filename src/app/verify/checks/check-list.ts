import type { StagedCheck } from './check.js';
import { amountsCheck } from './amounts.js';
import { bothApisCheck } from './both-apis.js';
import { catalogChainCheck, publishedLogsCheck } from './catalog-chain.js';
import { dateAgainstGroupCheck } from './date-against-group.js';
import { derivedFilesCheck } from './derived-files.js';
import { eventDatesCheck } from './event-dates.js';
import { eventIdsCheck } from './event-ids.js';
import { fileBytesCheck } from './file-bytes.js';
import { groupTotalsCheck } from './group-totals.js';
import { loadedWindowsCheck } from './loaded-windows.js';
import { logTagsCheck } from './log-files.js';
import { netSumsCheck } from './net-sums.js';
import { paidTotalsCheck, netProceedsCheck } from './paid-settlements.js';
import { parquetCheck } from './parquet.js';
import { partitionsCheck } from './partitions.js';
import { positionsCheck } from './positions.js';
import { rawColumnsCheck } from './raw-columns.js';
import { reportAmountsCheck } from './report-amounts.js';
import { reportLinesCheck } from './report-lines.js';
import { reportTotalsCheck } from './report-totals.js';
import { requestedRangesCheck } from './requested-ranges.js';
import { rolesCheck } from './roles.js';
import { rowCountsCheck, statisticsCheck } from './statistics.js';
import { uniqueIdsCheck } from './unique-ids.js';
import { unnamedFilesCheck } from './unnamed-files.js';
import { unreadEventsCheck } from './unread-events.js';

/** Every check, in the order of the certificate, and of the work of each stage. */
export const checks: readonly StagedCheck[] = [
  catalogChainCheck,
  publishedLogsCheck,
  logTagsCheck,
  derivedFilesCheck,
  loadedWindowsCheck,
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
