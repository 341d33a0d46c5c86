/** Of the time that an answer took, against what was known: one slow answer says little. */
const newestShare = 0.2;

/**
 * How long answers take of late.
 *
 * @param known seconds as they were known before this answer; undefined: it is the first
 * @param seconds from the request to its whole answer
 */
export function latencyAfter(known: number | undefined, seconds: number): number {
  const before = known ?? seconds;
  return before + (seconds - before) * newestShare;
}
