/**
 * A run is named by the version that it would have claimed first and a nonce, because several begin at one version. So
 * a fence of all runs before a version replaces the names of those that began before it, without any clock.
 *
 * @param version the newest version when it begins, -1 in an empty lake
 * @param nonce letters and digits
 */
export function runName(version: number, nonce: string): string {
  return `${version + 1}-${nonce}`;
}

/** The version that a run would have claimed first; Infinity for another text, so that no fence of a version includes it. */
export function firstVersionOf(run: string): number {
  const [, version] = /^(\d{1,15})-/.exec(run) ?? [];
  return version === undefined ? Infinity : Number(version);
}
