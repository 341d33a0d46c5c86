/** Requests a second beyond which a run never waits for the quota, and saves none. */
const unpacedRate = 100;

/** Whether slices are cut and opened by the quota, and pages kept for the next run. */
export function isWorthPacing(rate: number): boolean {
  return rate <= unpacedRate;
}
