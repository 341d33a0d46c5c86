import type { GroupSpan } from '../../lake/delta/data-file.js';
import { dayMs, type Window } from '../../core/windows.js';
import type { Lake } from '../../lake/lake.js';
import { reportLimits } from '../../sources/finances/settlement-reports/report-operations.js';
import { roles } from '../../../pipelines/all-pipelines.js';
import type { LookBacks } from '../../lake/upkeep/look-backs.js';

/** What a lake has of the settlement reports that the service keeps for a while. Instants in milliseconds since 1970. */
export interface KeptReports {
  /** The end of the last settlement that has one; undefined where no report has dates. */
  readonly endedAt: number | undefined;
  /** When a run read the service's reports last; undefined where all were imported. */
  readonly listedAt: number | undefined;
  /** From when on the service may not have a report that was written since then; undefined while that is far. */
  readonly lostFrom: number | undefined;
  /** Closed settlements without a report, which the service has for a few more days. */
  readonly expiring: readonly GroupSpan[];
}

/** Days before the service has a report no more, from which on that is reported. */
const noticeDays = { list: 14, settlement: 10 };

/** Milliseconds by which the end of a settlement's report may differ from that of its group. */
const nearMs = dayMs;

/**
 * The settlement reports of an account, by the logs alone; undefined where the lake has none.
 *
 * @param groups the listed settlements
 */
export function keptReports(
  lake: Lake,
  account: string,
  groups: readonly GroupSpan[],
  { lookBacks, now }: { readonly lookBacks?: LookBacks | undefined; readonly now: number },
): KeptReports | undefined {
  const { name, main } = roles.reports;
  const keys = [...lake.snapshot.keysOf(account, name).values()];
  if (keys.length === 0) return undefined;
  // A run that found nothing new has left a look-back alone.
  const read = [
    ...keys.flatMap(({ origin, readAt }) => (origin === 'api' ? [readAt] : [])),
    ...(lookBacks?.get(name)?.values() ?? []),
  ];
  const listedAt = read.length === 0 ? undefined : Math.max(...read);
  const lostAt = listedAt === undefined ? Infinity : listedAt + reportLimits.keptMs;
  const ends = lake.snapshot.filesOf(main.name, account, name).flatMap((file): Window[] => {
    const { least = '', greatest = '' } = file.columnStatistics('ended_at');
    const [start, end] = [Date.parse(least), Date.parse(greatest)];
    return start <= end ? [{ start, end }] : [];
  });
  const oldest = now - reportLimits.keptMs;
  const isExpiring = ({ end }: GroupSpan) =>
    end !== null &&
    end > oldest &&
    end < oldest + noticeDays.settlement * dayMs &&
    !ends.some((span) => end > span.start - nearMs && end < span.end + nearMs);
  return {
    endedAt: ends.length === 0 ? undefined : Math.max(...ends.map(({ end }) => end)),
    listedAt,
    lostFrom: now >= lostAt - noticeDays.list * dayMs ? lostAt : undefined,
    expiring: groups.filter(isExpiring),
  };
}
