import { expect, onTestFinished, test } from 'vitest';
import { WorkerThread } from '../../src/core/worker-thread.js';
import { scripted } from './built-thread.js';

function thread(javascript: string, signal = new AbortController().signal): WorkerThread<number, number> {
  const started = new WorkerThread<number, number>(scripted(javascript), signal);
  onTestFinished(() => started.close());
  return started;
}

test('a thread answers each question, in whatever order the answers come, and what it refuses is that question’s error', async () => {
  // Keeps the first one until the second one comes.
  const own = thread(`
    globalThis.kept ??= [];
    kept.push(job);
    if (kept.length < 2) return;
    for (const { id, question } of kept.reverse()) {
      if (question < 0) parentPort.postMessage({ id, message: 'expected no less than 0', code: 'PARQUET_MISMATCH' });
      else parentPort.postMessage({ id, answer: question * 2 });
    }
    kept = [];`);
  expect(own.waiting).toBe(0);
  const both = [own.ask(4), own.ask(-1)];
  expect(own.waiting).toBe(2);
  const [doubled, refused] = await Promise.allSettled(both);
  expect(doubled).toEqual({ status: 'fulfilled', value: 8 });
  expect(refused).toMatchObject({ reason: { code: 'PARQUET_MISMATCH', message: 'expected no less than 0' } });
  expect(own.waiting).toBe(0);
});

test.each([
  ['exits', 'process.exit(3)', /ended early \(exit code 3\)/],
  ['throws', "throw new Error('the encoder is on fire')", /the encoder is on fire/],
  ['runs out of memory', 'const held = []; for (;;) held.push(new Array(1e5).fill(job.id));', /memory/],
])('a thread that %s fails what is under way, and what comes after it', async (_, script, message) => {
  const dying = thread(script);
  const asked = [dying.ask(1), dying.ask(2)];
  for (const answer of asked) {
    await expect(answer).rejects.toMatchObject({ code: 'ENCODER', exitCode: 1 });
    await expect(answer).rejects.toThrow(message);
  }
  await expect(dying.ask(3)).rejects.toMatchObject({ code: 'ENCODER' });
});

test('a signal ends the wait for a thread that never answers, with its reason', async () => {
  const stop = new AbortController();
  const silent = thread('', stop.signal);
  const asked = [silent.ask(1), silent.ask(2)];
  stop.abort(new Error('enough'));
  for (const answer of asked) await expect(answer).rejects.toThrow('enough');
});

test('a thread that is closed fails what it has not answered, and starts no other', async () => {
  const silent = thread('');
  const asked = silent.ask(1);
  await silent.close();
  await expect(asked).rejects.toThrow(/it was closed/);
  const never = thread('');
  await never.close();
  await expect(never.ask(1)).rejects.toMatchObject({ code: 'ENCODER' });
});
