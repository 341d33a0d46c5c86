import type { Density } from './density.js';
import { blockOf, blockSize, type Kinds, type Slot, slots } from './event-mix.js';
import { hash } from './seeded-random.js';

const salt = 21;
/** An order is looked for this many blocks further back where the nearer ones have none that is old enough. */
const attempts = 3;

export interface Replies {
  /** The order that an event is about: the ordinal of the event that began it; undefined: none. */
  orderOf(ordinal: number, slot: Slot): number | undefined;
  /** The events about an order, without the one that began it, in their order. */
  repliesTo(order: number): number[];
}

/**
 * Ties refunds and their like to earlier orders so that both ways are found by arithmetic: an answer's slot says how
 * many blocks back its order lies, so an order's answers can only be in a few slots of a few blocks.
 */
export function createReplies(key: number, density: Density, kinds: Kinds): Replies {
  const answers = slots.flatMap((slot) => {
    if (slot.reply === undefined) return [];
    const events = density.perDay * slot.reply.days;
    return [{ slot, reply: slot.reply, blocksBack: Math.round(events / blockSize), leastGap: Math.ceil(events / 2) }];
  });
  const answerOf = new Map(answers.map((answer) => [answer.slot, answer]));

  function orderAnswered(ordinal: number, slot: Slot): number | undefined {
    if (slot.reply === undefined) return undefined;
    const answer = answerOf.get(slot);
    if (answer === undefined) return undefined;
    const { reply, blocksBack, leastGap } = answer;
    const choice = hash(key, ordinal, salt);
    const block = blockOf(ordinal) - blocksBack;
    for (let attempt = 0; attempt < attempts; attempt++) {
      for (let tried = 0; tried < reply.count; tried++) {
        const order = kinds.ordinalOf(block - attempt, reply.first + ((choice + tried) % reply.count));
        if (order <= ordinal - leastGap) return order;
      }
    }
    // A whole block lies between, which is more than the gap asked for.
    return kinds.ordinalOf(block - attempts, reply.first);
  }

  return {
    orderOf: (ordinal, slot) => (slot.order ? ordinal : orderAnswered(ordinal, slot)),
    repliesTo: (order) => {
      const { index } = kinds.slotOf(order);
      const found: number[] = [];
      for (const { slot, reply, blocksBack } of answers) {
        if (index < reply.first || index >= reply.first + reply.count) continue;
        for (let attempt = 0; attempt <= attempts; attempt++) {
          const ordinal = kinds.ordinalOf(blockOf(order) + blocksBack + attempt, slot.index);
          if (orderAnswered(ordinal, slot) === order) found.push(ordinal);
        }
      }
      return found.sort((a, b) => a - b);
    },
  };
}
