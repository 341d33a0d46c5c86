import type { Clock } from '../../core/clock.js';
import type { Emit } from '../../core/events/run-event.js';
import { type Paint, viewLines } from './view-lines.js';
import { RunProgress } from './run-progress.js';
import { columnsOf, Screen, type Terminal } from './screen.js';

/** The process that the view belongs to, as far as it matters how it ends and pauses. */
interface ViewedProcess {
  readonly pid: number;
  on(event: string, listener: () => void): unknown;
  off(event: string, listener: () => void): unknown;
  kill(pid: number, signal: string): unknown;
}

interface LiveViewOptions {
  readonly terminal: Terminal & Pick<ViewedProcess, 'on' | 'off'>;
  readonly process: ViewedProcess;
  readonly clock: Clock;
  readonly paint: Paint;
}

interface LiveView {
  /** Draws from `run-started` to `run-ended`. */
  readonly emit: Emit;
  /** Writes a line, or several, above the view. */
  above(text: string): void;
  /** Takes the view away. */
  close(): void;
}

/** Milliseconds from one drawing to the next. */
const frameMs = 200;

/**
 * A view of a run that is under way, at the bottom of a terminal. However the process ends, but for being killed, the
 * terminal is left as it was.
 */
export function liveView({ terminal, process, clock, paint }: LiveViewOptions): LiveView {
  const screen = new Screen(terminal);
  const progress = new RunProgress();
  let timer: NodeJS.Timeout | undefined;

  const draw = (): void => {
    // A line that is as wide as the terminal is broken by some as soon as it is narrowed by one.
    const width = Math.max(1, columnsOf(terminal) - 1);
    screen.draw(viewLines(progress.view(clock.now()), width, paint));
  };
  const stop = (): void => {
    screen.clear();
    process.kill(process.pid, 'SIGSTOP');
  };
  const close = (): void => {
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
    timer = setInterval(draw, frameMs).unref();
    terminal.on('resize', draw);
    // Also after an error that nobody caught.
    process.on('exit', close);
    process.on('SIGTSTP', stop);
    process.on('SIGCONT', draw);
    draw();
  };

  return {
    emit: (event) => {
      progress.record(event, clock.now());
      if (event.event === 'run-started') open();
      if (event.event === 'run-ended') close();
    },
    above: (text) => {
      screen.above(text);
    },
    close,
  };
}
