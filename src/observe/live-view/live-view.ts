import type { Clock } from '../../core/clock.js';
import type { Emit } from '../../core/events/run-event.js';
import { type Paint, viewLines } from './view-lines.js';
import { RunProgress } from './run-progress.js';
import { terminalColumns, Screen, type Terminal } from './screen.js';

/** The members of `process` that the view needs to follow exit, suspension and resumption. */
interface ViewedProcess {
  readonly pid: number;
  on(event: string, listener: () => void): unknown;
  off(event: string, listener: () => void): unknown;
  kill(pid: number, signal: string): unknown;
}

/** The view of one run. */
export interface RunView {
  /** Draws the view from `run-started` to `run-ended`. */
  readonly emit: Emit;
  /** Writes one or more lines above the view. */
  above(text: string): void;
  /** Removes the view from the terminal. */
  close(): void;
}

/** Milliseconds between two redraws. */
const frameMs = 200;

/**
 * A view of the runs of a command in the last lines of a terminal. It restores the terminal however the process ends, except by SIGKILL.
 * Returns a function that adds the view of one more run, which is drawn below the others.
 */
export function liveView({
  terminal,
  process,
  clock,
  paint,
}: {
  readonly terminal: Terminal & Pick<ViewedProcess, 'on' | 'off'>;
  readonly process: ViewedProcess;
  readonly clock: Clock;
  readonly paint: Paint;
}): () => RunView {
  const screen = new Screen(terminal);
  /** Those that run, in order of their starts. */
  const runs = new Set<RunProgress>();
  let timer: NodeJS.Timeout | undefined;

  const draw = (): void => {
    // Some terminals break a line of full width as soon as they get one cell narrower.
    const width = Math.max(1, terminalColumns(terminal) - 1);
    const now = clock.now();
    screen.draw([...runs].flatMap((run) => viewLines(run.view(now), width, paint)));
  };
  const stop = (): void => {
    screen.clear();
    process.kill(process.pid, 'SIGSTOP');
  };
  const close = (): void => {
    runs.clear();
    if (timer === undefined) return;
    clearInterval(timer);
    timer = undefined;
    screen.clear();
    terminal.off('resize', draw);
    process.off('exit', close);
    process.off('SIGTSTP', stop);
    process.off('SIGCONT', draw);
  };
  const open = (): void => {
    if (timer !== undefined) return;
    timer = setInterval(draw, frameMs).unref();
    terminal.on('resize', draw);
    // `exit` also follows an uncaught error.
    process.on('exit', close);
    process.on('SIGTSTP', stop);
    process.on('SIGCONT', draw);
  };

  return () => {
    const progress = new RunProgress();
    const end = (): void => {
      runs.delete(progress);
      if (runs.size === 0) close();
      else draw();
    };
    return {
      emit: (event) => {
        progress.record(event, clock.now());
        if (event.event === 'run-started') {
          runs.add(progress);
          open();
          draw();
        }
        if (event.event === 'run-ended') end();
      },
      above: (text) => {
        screen.above(text);
      },
      close: end,
    };
  };
}
