import { EventEmitter } from 'node:events';
import { expect, test } from 'vitest';
import { liveView, type RunView } from '../../../src/observe/live-view/live-view.js';
import { paintIn } from '../../../src/observe/live-view/view-lines.js';
import { clockAt } from '../../app/lake-run.js';
import { SmallTerminal } from './small-terminal.js';

class ViewedTerminal extends SmallTerminal {
  readonly #events = new EventEmitter();
  on(event: string, listener: () => void): void {
    this.#events.on(event, listener);
  }
  off(event: string, listener: () => void): void {
    this.#events.off(event, listener);
  }
}

class ViewedProcess extends EventEmitter {
  readonly pid = 1;
  kill(): void {
    throw new Error('not stopped');
  }
}

test('runs side by side share a view, each with the days from which on it is complete, until the last one ends', () => {
  const terminal = new ViewedTerminal(100);
  const process = new ViewedProcess();
  const addView = liveView({ terminal, process, clock: clockAt('2026-03-20T02:00:00Z'), paint: paintIn(false) });
  const start = (run: RunView, account: string, from: string): void => {
    const range = { from: '2026-01-01T00:00:00.000Z', to: '2026-03-20T02:00:00.000Z' };
    const of = { command: 'sync', account, lake: 'lake', pipelines: ['financial-events'] };
    run.emit({ event: 'run-started', run: account, ...of, ...range });
    run.emit({ event: 'pipeline-planned', pipeline: 'financial-events', left: '79 days' });
    run.emit({ event: 'watermark-moved', pipeline: 'financial-events', until: range.from, from });
  };
  const shown = (): readonly string[] => {
    process.emit('SIGCONT');
    return terminal.lines.filter((line) => line !== '').map((line) => line.trim());
  };
  const [one, other] = [addView(), addView()];
  start(one, 'alpine', '2026-03-01T00:00:00.000Z');
  start(other, 'tokyo', '2026-02-01T00:00:00.000Z');
  expect(shown()).toEqual([
    'sync · alpine · lake · 0 s',
    expect.stringContaining('financial-events'),
    expect.stringMatching(/^complete from 2026-03-01 · /),
    'sync · tokyo · lake · 0 s',
    expect.stringContaining('financial-events'),
    expect.stringMatching(/^complete from 2026-02-01 · /),
  ]);
  one.above('a line of alpine');
  one.emit({ event: 'run-ended', status: 'done', seconds: 1 });
  one.close();
  expect(shown().slice(0, 2)).toEqual(['a line of alpine', 'sync · tokyo · lake · 0 s']);
  expect(shown()).toHaveLength(4);
  other.close();
  expect(terminal.lines.filter((line) => line !== '')).toEqual(['a line of alpine']);
  expect(terminal.isCursorShown).toBe(true);
  expect(process.listenerCount('exit')).toBe(0);
});
