import { currentWorld } from '../world/world.js';

/*
 * Replaces `node:timers/promises`, of which the program takes `setImmediate` alone, but for its clock, which isn't played: work that gives
 * way to other work goes on before any time passes.
 */

export function setImmediate(): Promise<void> {
  return currentWorld().outside(() => Promise.resolve());
}
