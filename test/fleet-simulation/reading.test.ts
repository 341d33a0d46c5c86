import fc from 'fast-check';
import { expect, test } from 'vitest';
import {
  answeredBy,
  fullAfter,
  lengthOf,
  readingOf,
  sentAt,
  sentBy,
  type Bucket,
  type Reading,
} from '../../bench/fleet/reading.js';
import { TokenBucket } from '../../src/engine/rate-limit/token-bucket.js';
import { HandClock } from '../core/clock.js';

/** Milliseconds by which sums of fractions may differ. */
const rounding = 1e-4;

const anyReading = fc
  .record({
    requests: fc.integer({ min: 1, max: 120 }),
    slices: fc.integer({ min: 1, max: 30 }),
    latencyMs: fc.integer({ min: 10, max: 12_000 }),
    burst: fc.integer({ min: 1, max: 40 }),
    tokenMs: fc.constantFrom(100, 500, 2000),
    emptyFor: fc.integer({ min: -100_000, max: 100_000 }),
  })
  .map(({ requests, slices, latencyMs, burst, tokenMs, emptyFor }) => {
    const start = 1_000_000;
    const bucket: Bucket = { tokenMs, burst, fullAt: Math.min(start + emptyFor, start + burst * tokenMs) };
    return { bucket, reading: readingOf(start, requests, slices, latencyMs, bucket) };
  });

/** The instants at which a real bucket hands tokens to the reading's chains. */
async function instants({ tokenMs, burst, fullAt }: Bucket, reading: Reading) {
  const clock = new HandClock(reading.start);
  const bucket = new TokenBucket({ rate: 1000 / tokenMs, burst, clock, state: fullAt });
  const sent: number[] = [];
  let left = reading.requests;
  const chain = async (): Promise<void> => {
    while (left > 0) {
      left--;
      while (!bucket.take()) await clock.sleep(bucket.nextTokenAt() - clock.now());
      sent.push(clock.now());
      await clock.sleep(reading.latencyMs);
    }
  };
  await clock.until(Promise.all(Array.from({ length: reading.chains }, chain)));
  return { sent, end: clock.now(), state: bucket.state };
}

test('requests go out when a real bucket hands out its tokens to as many chains, and leave it as full', async () => {
  await fc.assert(
    fc.asyncProperty(anyReading, async ({ bucket, reading }) => {
      const real = await instants(bucket, reading);
      // A real one hands out whole milliseconds; where chains wait in turn for tokens and answers, that adds up a little.
      const slack = reading.latencyMs + 5;
      real.sent.forEach((at, request) => {
        expect(sentAt(reading, request)).toBeLessThanOrEqual(at + 1);
        expect(sentAt(reading, request)).toBeGreaterThanOrEqual(at - slack);
      });
      expect(Math.abs(reading.start + lengthOf(reading) - real.end)).toBeLessThanOrEqual(slack);
      expect(
        Math.abs(fullAfter(bucket, reading, reading.requests) - Math.max(real.state, bucket.fullAt)),
      ).toBeLessThanOrEqual(Math.max(slack, reading.tokenMs));
    }),
    { numRuns: 60 },
  );
});

test('what has gone out and what is answered grow with time, to all of it at the end', () => {
  fc.assert(
    fc.property(anyReading, fc.double({ min: 0, max: 1, noNaN: true }), ({ reading }, share) => {
      const end = reading.start + lengthOf(reading);
      const at = reading.start + share * lengthOf(reading);
      const sent = sentBy(reading, at);
      const instants = Array.from({ length: reading.requests }, (_, request) => sentAt(reading, request));
      const sentUpTo = (instant: number) => instants.filter((sent) => sent <= instant).length;
      // A request at this very instant is rounded to either side.
      expect(sent).toBeGreaterThanOrEqual(sentUpTo(at - rounding));
      expect(sent).toBeLessThanOrEqual(sentUpTo(at + rounding));
      expect(answeredBy(reading, at)).toBeLessThanOrEqual(sent);
      expect(sent - answeredBy(reading, at)).toBeLessThanOrEqual(reading.chains);
      expect(answeredBy(reading, end)).toBe(reading.requests);
    }),
  );
});
