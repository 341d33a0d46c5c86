import type { Emit } from './run-event.js';

/** A log whose lines are events `message`. */
export function messageLog(emit: Emit): (message: string) => void {
  return (message) => {
    emit({ event: 'message', message });
  };
}
