import type { Check } from './check.js';
import { amounts } from './amounts.js';
import { bothApis } from './both-apis.js';
import { catalogChain, publishedLogs } from './catalog-chain.js';
import { dateAgainstGroup } from './date-against-group.js';
import { derivedFiles } from './derived-files.js';
import { eventDates } from './event-dates.js';
import { eventIds } from './event-ids.js';
import { fileBytes } from './file-bytes.js';
import { groupTotals } from './group-totals.js';
import { windows } from './loaded-windows.js';
import { logTags } from './log-files.js';
import { netSums } from './net-sums.js';
import { paidTotals, netProceeds } from './paid-settlements.js';
import { parquet } from './parquet.js';
import { partitions } from './partitions.js';
import { positions } from './positions.js';
import { rawColumns } from './raw-columns.js';
import { reportAmounts } from './report-amounts.js';
import { reportLines } from './report-lines.js';
import { reportTotals } from './report-totals.js';
import { requestedRanges } from './requested-ranges.js';
import { roles } from './roles.js';
import { rowCounts, statistics } from './statistics.js';
import { uniqueIds } from './unique-ids.js';
import { unnamedFiles } from './unnamed-files.js';
import { unreadEvents } from './unread-events.js';

/** Every check, in the order of the certificate, and of the work of each stage. */
export const checks: readonly Check[] = [
  catalogChain,
  publishedLogs,
  logTags,
  derivedFiles,
  windows,
  unreadEvents,
  requestedRanges,
  fileBytes,
  unnamedFiles,
  parquet,
  rowCounts,
  statistics,
  partitions,
  positions,
  eventIds,
  rawColumns,
  amounts,
  roles,
  uniqueIds,
  netSums,
  eventDates,
  groupTotals,
  paidTotals,
  netProceeds,
  reportTotals,
  reportAmounts,
  reportLines,
  dateAgainstGroup,
  bothApis,
];
