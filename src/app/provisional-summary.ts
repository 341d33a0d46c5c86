import type { Clock } from '../core/clock.js';
import { isoInstant } from '../core/numeric/instant.js';

/** The summary for programs of a run that starts now, if it fails before it has read anything; null: not known. */
export function provisionalSummary(
  { account, lake, from, to }: { account: string; lake: string; from: number | null; to: number | null },
  clock: Clock,
): () => Readonly<Record<string, unknown>> {
  const began = clock.now();
  const instantText = (instant: number | null) => (instant === null ? null : isoInstant(instant));
  return () => ({
    account,
    lake,
    from: instantText(from),
    to: instantText(to),
    seconds: (clock.now() - began) / 1000,
    pipelines: {},
  });
}
