/** A time during which Redis is away: milliseconds since 1970. */
export interface Outage {
  readonly from: number;
  readonly to: number;
}

export const noOutage: Outage = { from: -Infinity, to: -Infinity };

/** Whether the lock of a job that was taken before an outage has gone by its end, as nobody could renew it. */
export function lapses({ from, to }: Outage, takenAt: number, lockMs: number): boolean {
  return takenAt <= from && renewedAt(takenAt, from, lockMs) + lockMs < to;
}

/** When a lock was renewed last: every half of its life. */
function renewedAt(takenAt: number, until: number, lockMs: number): number {
  return until - ((until - takenAt) % (lockMs / 2));
}

/**
 * When a job is found to have stalled. Locks are renewed every half of their life. Each check marks every active job, a
 * renewal takes the mark away, and a job that is still marked at the next check, and has no lock, is put back.
 *
 * @param takenAt when the worker took the job, and `diedAt` when it died: milliseconds since 1970
 */
export function stalledAt(
  takenAt: number,
  diedAt: number,
  { lockMs, checkMs }: { readonly lockMs: number; readonly checkMs: number },
): number {
  const renewed = renewedAt(takenAt, diedAt, lockMs);
  let check = (Math.floor(renewed / checkMs) + 2) * checkMs;
  while (check < Math.max(diedAt, renewed + lockMs)) check += checkMs;
  return check;
}
