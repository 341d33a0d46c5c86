import { expect, test } from 'vitest';
import { killed, killPoints, undisturbed } from './kill-trials.js';

test('a run that is killed anywhere goes on where it was, and ends as if nothing had happened', async () => {
  const wanted = await undisturbed();
  try {
    expect(wanted.steps).toBeGreaterThan(50);
    const points = killPoints(20250620, 8, wanted);
    const trials = [points.slice(0, 2), points.slice(2, 4), points.slice(4, 6), points.slice(6)];
    let kills = 0;
    for (const pair of [trials.slice(0, 2), trials.slice(2)]) {
      for (const survived of await Promise.all(pair.map((of) => killed(wanted, of)))) kills += survived.killed;
    }
    expect(kills).toBeGreaterThan(3);
  } finally {
    await wanted.remove();
  }
});
