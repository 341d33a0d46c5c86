import { afterAll, beforeAll, expect, test } from 'vitest';
import { contents, globbed, truthOf } from '../../lake/lake-truth.js';
import { childRun, type ChildRun } from './child-run.js';
import { filesOf } from './disk-lake.js';
import { folder, server, undisturbed, unitOf, unitsIn, words, type Undisturbed } from './kill-trials.js';

/** What the program promises: so long it takes at most from the first signal to its end. */
const graceMs = 10_000;

let wanted: Undisturbed;
beforeAll(async () => {
  wanted = await undisturbed();
});
afterAll(() => wanted.remove());

/** Sends the signal, and another kind of end to a run that hasn't ended in time. */
async function stopped(child: ChildRun, signal: NodeJS.Signals): ReturnType<typeof awaited> {
  child.process.kill(signal);
  return awaited(child);
}

async function awaited(child: ChildRun): Promise<Awaited<ChildRun['ended']>> {
  const late = setTimeout(() => child.process.kill('SIGKILL'), graceMs);
  const end = await child.ended;
  clearTimeout(late);
  return end;
}

function logged(child: ChildRun, what: RegExp): Promise<void> {
  return new Promise((resolve) => {
    let text = '';
    child.process.stderr?.on('data', (chunk: Buffer) => {
      text += chunk.toString();
      if (what.test(text)) resolve();
    });
    child.process.on('close', () => {
      resolve();
    });
  });
}

test.each([
  ['SIGTERM', 'takes five seconds for an answer', 5000],
  ['SIGINT', 'never answers', Infinity],
] as const)(
  '%s while the service %s ends the run in time, and the next one goes on',
  async (signal, _how, slowness) => {
    const upstream = await server();
    const { lake, remove } = await folder();
    try {
      const child = childRun(words(lake, upstream, '--verbose'));
      // It goes well until a slice is in the lake.
      await logged(child, / committed, /);
      upstream.slowness = slowness;
      const { code, errors } = await stopped(child, signal);
      expect(code, errors).toBe(1);
      const [line = ''] = errors.split('\n').filter((text) => text.startsWith('ledgerlake: '));
      expect(line).toMatch(new RegExp(`stopped by ${signal}.*the same command continues`));

      const before = await filesOf(lake);
      const committed = new Set(unitsIn(before));
      expect(committed.size).toBeGreaterThan(0);
      expect(truthOf(before).faults).toEqual([]);
      // Nobody holds the lake any more: what stays is the word that something may have been left.
      const leases = [...before].filter(([path]) => path.startsWith('_runs/'));
      for (const [, lease] of leases) expect(JSON.parse(Buffer.from(lease).toString())).toMatchObject({ ended: true });

      upstream.slowness = 0;
      upstream.asked.length = 0;
      const next = await childRun(words(lake, upstream)).ended;
      expect(next.code, next.errors).toBe(0);
      const missing = wanted.asked.filter((key) => !committed.has(unitOf(key)));
      expect(upstream.asked.toSorted()).toEqual(missing.toSorted());
      const files = await filesOf(lake);
      expect([...files.keys()].filter((path) => path.startsWith('_runs/'))).toEqual([]);
      expect(contents(files)).toEqual(contents(wanted.files));
      expect(globbed(files)).toEqual(truthOf(files).counted);
    } finally {
      await upstream.close();
      await remove();
    }
  },
);

// The next one waits for as long as the program does: meanwhile this one can be at work.
test.concurrent('a second signal ends the run at once, and the lake stays whole', async () => {
  const upstream = await server();
  const { lake, remove } = await folder();
  try {
    // Stands still in the middle of writing a slice: the first signal waits for that.
    const child = childRun(words(lake, upstream), { stallAt: Math.floor(wanted.steps / 2) });
    await logged(child, /standing still/);
    child.process.kill('SIGTERM');
    await logged(child, /standing still, told to stop/);
    const { code } = await stopped(child, 'SIGINT');
    expect(code).toBe(1);
    expect(truthOf(await filesOf(lake)).faults).toEqual([]);
    const next = await childRun(words(lake, upstream)).ended;
    expect(next.code, next.errors).toBe(0);
    expect(contents(await filesOf(lake))).toEqual(contents(wanted.files));
  } finally {
    await upstream.close();
    await remove();
  }
});

test.concurrent('a disk that never answers again holds up nobody who stops the run', async () => {
  const upstream = await server();
  const { lake, remove } = await folder();
  try {
    const child = childRun(words(lake, upstream), { stallAt: Math.floor(wanted.steps / 2) });
    await logged(child, /standing still/);
    const { code, errors } = await stopped(child, 'SIGTERM');
    expect(code, errors).toBe(1);
    expect(errors).toMatch(/stopped by SIGTERM.*continues from there; what was open did not finish/);
    expect(truthOf(await filesOf(lake)).faults).toEqual([]);
    const next = await childRun(words(lake, upstream)).ended;
    expect(next.code, next.errors).toBe(0);
    expect(contents(await filesOf(lake))).toEqual(contents(wanted.files));
  } finally {
    await upstream.close();
    await remove();
  }
});
