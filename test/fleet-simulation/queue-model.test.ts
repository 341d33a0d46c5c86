import fc from 'fast-check';
import { expect, test } from 'vitest';
import { stalledAt } from '../../bench/fleet/locks.js';
import { QueueModel, type QueuedJob } from '../../bench/fleet/queue-model.js';

const job = (id: number, priority: number): QueuedJob => ({ id, priority });

function taken(queue: QueueModel<QueuedJob>, now: number): number[] {
  const ids: number[] = [];
  for (let next = queue.take(now); next !== undefined; next = queue.take(now)) ids.push(next.id);
  return ids;
}

test('jobs go by priority, and by their coming within one; what has none goes first', () => {
  const anyJobs = fc.array(fc.integer({ min: 0, max: 4 }), { maxLength: 40 });
  fc.assert(
    fc.property(anyJobs, (priorities) => {
      const queue = new QueueModel<QueuedJob>();
      const jobs = priorities.map((priority, id) => job(id, priority));
      for (const one of jobs) queue.add(one, 0, 0);
      expect(queue.firstPriority).toBe(jobs.length === 0 ? undefined : Math.min(...priorities));
      const expected = jobs.toSorted((a, b) => a.priority - b.priority || a.id - b.id).map(({ id }) => id);
      expect(taken(queue, 0)).toEqual(expected);
      expect(queue).toMatchObject({ waiting: 0, active: jobs.length });
    }),
  );
});

test('a delayed job joins once it is due, behind those that came before', () => {
  const queue = new QueueModel<QueuedJob>();
  queue.add(job(1, 5), 1000, 0);
  queue.add(job(2, 5), 500, 0);
  expect(queue).toMatchObject({ waiting: 0, delayed: 2, nextDelayed: 500 });
  expect(queue.take(499)).toBeUndefined();
  queue.add(job(3, 5), 0, 499);
  expect(taken(queue, 1000)).toEqual([3, 2, 1]);
});

test('a stalled job goes before all others, and one of another priority to its new place', () => {
  const queue = new QueueModel<QueuedJob>();
  const [one, two, three] = [job(1, 9), job(2, 5), job(3, 5)] as const;
  queue.add(one, 0, 0);
  expect(queue.take(0)).toBe(one);
  queue.add(two, 0, 0);
  queue.add(three, 0, 0);
  queue.changePriority(three, 4);
  queue.changePriority(two, 7);
  queue.stall(one);
  expect(queue.firstPriority).toBe(0);
  expect(taken(queue, 0)).toEqual([1, 3, 2]);
});

test('a job whose worker died is put back once its lock has gone and two looks were taken', () => {
  const times = { lockMs: 30_000, checkMs: 30_000 };
  fc.assert(
    fc.property(fc.nat(500_000), fc.nat(500_000), (takenAt, worked) => {
      const diedAt = takenAt + worked;
      const at = stalledAt(takenAt, diedAt, times);
      expect(at % times.checkMs).toBe(0);
      expect(at - diedAt).toBeGreaterThan(0);
      expect(at - diedAt).toBeLessThanOrEqual(times.checkMs + times.lockMs);
      // Renewed last at most half of its life before.
      expect(at - diedAt).toBeGreaterThanOrEqual(times.lockMs / 2);
    }),
  );
});
