import type { EventListName } from '../../sources/finances/api-v0/event-records.js';
import { Draw, hash } from '../profiles/seeded-random.js';

/** Lists whose events follow an earlier order, with the number of days after it; undefined: the event has no order. */
const followUps: Partial<Record<EventListName, readonly (number | undefined)[]>> = {
  RefundEventList: [2, 3, 4, 6, 8, 11, 15, 20, 27, 38],
  ShipmentSettleEventList: [1],
  GuaranteeClaimEventList: [24],
  ChargebackEventList: [45],
  EBTRefundReimbursementOnlyEventList: [10],
  RetrochargeEventList: [31],
  ServiceFeeEventList: [undefined, undefined, 1, 2],
  AffordabilityExpenseEventList: [1],
  AffordabilityExpenseReversalEventList: [12],
  TDSReimbursementEventList: [20],
  RemovalShipmentAdjustmentEventList: [14],
  FBALiquidationEventList: [7],
};

const orderLists: readonly EventListName[] = [
  'ShipmentEventList',
  'RentalTransactionEventList',
  'RemovalShipmentEventList',
  'TrialShipmentEventList',
];
const removalFollowUps: readonly EventListName[] = ['RemovalShipmentAdjustmentEventList', 'FBALiquidationEventList'];
/** Lists whose second event in a block sometimes repeats the first one, directly after it. */
const duplicatedLists: readonly EventListName[] = ['ServiceFeeEventList', 'AdjustmentEventList'];

interface FollowUp {
  /** The slots of the orders that may be followed: the first one and their number. */
  readonly first: number;
  readonly count: number;
  /** Number of days from the order to the event. */
  readonly days: number;
}

interface Slot {
  readonly index: number;
  readonly list: EventListName;
  /** Number among the slots of its list in the block, from 0. */
  readonly nth: number;
  /** Whether the event starts an order, whose id encodes its ordinal. */
  readonly startsOrder: boolean;
  readonly followUp: FollowUp | undefined;
  readonly isDuplicate: boolean;
}

/**
 * The slots of a block. All blocks have the same composition, each in another order, so that the events of two
 * consecutive blocks less one event include every list.
 */
function slotsOf(counts: ReadonlyMap<EventListName, number>): readonly Slot[] {
  const all = [...counts].flatMap(([list, count]) => Array.from({ length: count }, (_, nth) => ({ list, nth })));
  const first = (list: EventListName) => all.findIndex((slot) => slot.list === list);
  const shipments = { first: first('ShipmentEventList'), count: counts.get('ShipmentEventList') ?? 0 };
  const perRefund = Math.floor(shipments.count / (counts.get('RefundEventList') ?? 1));

  function followUpOf(list: EventListName, nth: number): FollowUp | undefined {
    const all = followUps[list] ?? [];
    if (list !== 'RefundEventList') {
      const days = all[nth];
      if (days === undefined) return undefined;
      if (removalFollowUps.includes(list)) return { first: first('RemovalShipmentEventList'), count: 1, days };
      return { ...shipments, days };
    }
    // Each refund of a block chooses among other orders, so that no order is refunded twice.
    return { first: shipments.first + nth * perRefund, count: perRefund, days: all[nth % all.length] ?? 1 };
  }
  return all.map(({ list, nth }, index) => ({
    index,
    list,
    nth,
    startsOrder: orderLists.includes(list),
    followUp: followUpOf(list, nth),
    isDuplicate: nth === 1 && duplicatedLists.includes(list),
  }));
}

/** Total number of slots in all arrangements of a block: enough that no pattern is visible, few enough for a table. */
const arrangedSlots = 7680;
const salt = { arrangement: 11, shuffle: 12, order: 21 };

export interface EventMix {
  /** Number of events in a block. */
  readonly blockSize: number;
  readonly slots: readonly Slot[];
  blockOf: (ordinal: number) => number;
  /** The slot of an event. */
  slotOf: (ordinal: number) => Slot;
  /** The ordinal of the event in a slot of a block. */
  ordinalOf(block: number, slot: number): number;
  /** Whether the event repeats the previous one. */
  isDuplicate(ordinal: number, slot: Slot): boolean;
}

/** A shuffled block in which each duplicate directly follows its original. */
function shuffledBlock(draw: Draw, slots: readonly Slot[], isPaired: (slot: Slot) => boolean): Uint16Array {
  const shuffled = slots.filter((slot) => !isPaired(slot)).map(({ index }) => index);
  for (let last = shuffled.length - 1; last > 0; last--) {
    const other = draw.below(last + 1);
    [shuffled[last], shuffled[other]] = [shuffled[other] ?? 0, shuffled[last] ?? 0];
  }
  return Uint16Array.from(
    shuffled.flatMap((slot) => {
      const next = slots[slot + 1];
      return next !== undefined && isPaired(next) ? [slot, slot + 1] : [slot];
    }),
  );
}

/** Assigns a slot, and so a list, to each event by its ordinal alone. `hasDuplicates`: some events are repeated. */
export function createEventMix(
  key: number,
  counts: ReadonlyMap<EventListName, number>,
  hasDuplicates: boolean,
): EventMix {
  const slots = slotsOf(counts);
  const blockSize = slots.length;
  const isPaired = ({ isDuplicate }: Slot) => hasDuplicates && isDuplicate;
  const draw = new Draw();
  const tables = Array.from({ length: Math.ceil(arrangedSlots / blockSize) }, (_, n) => {
    const slotAt = shuffledBlock(draw.begin(key, n, salt.shuffle), slots, isPaired);
    const positionOf = new Uint16Array(blockSize);
    slotAt.forEach((slot, position) => (positionOf[slot] = position));
    return { slotAt, positionOf };
  });
  const tableOf = (block: number) => tables[hash(key, block, salt.arrangement) % tables.length];
  const blockOf = (ordinal: number) => Math.floor(ordinal / blockSize);

  function slotOf(ordinal: number): Slot {
    const block = blockOf(ordinal);
    const slot = slots[tableOf(block)?.slotAt[ordinal - block * blockSize] ?? 0];
    if (slot === undefined) throw new Error(`There is no slot for event ${ordinal}`);
    return slot;
  }
  return {
    blockSize,
    slots,
    blockOf,
    slotOf,
    ordinalOf: (block, slot) => block * blockSize + (tableOf(block)?.positionOf[slot] ?? 0),
    isDuplicate: (ordinal, slot) => isPaired(slot) && blockOf(ordinal) % 3 === 0,
  };
}

/** Number of blocks further back that are searched for an order where the nearer ones have none that is old enough. */
const attempts = 3;

interface FollowUps {
  /** The order that an event concerns, as the ordinal of the event that started it; undefined: none. */
  orderOf(ordinal: number, slot: Slot): number | undefined;
  /** The ordinals of the events that follow an order, ascending, without the one that started it. */
  followUpsOf(order: number): number[];
}

/**
 * Links refunds and other follow-ups to earlier orders, so that both directions are computed: the slot of a follow-up
 * determines how many blocks back its order is, so that the follow-ups of an order can be in a few slots of a few
 * blocks only.
 */
export function createFollowUps(key: number, perDay: number, mix: EventMix): FollowUps {
  const { blockOf, blockSize, slots } = mix;
  const planned = slots.flatMap((slot) => {
    if (slot.followUp === undefined) return [];
    const events = perDay * slot.followUp.days;
    return [
      { slot, followUp: slot.followUp, blocksBack: Math.round(events / blockSize), leastGap: Math.ceil(events / 2) },
    ];
  });
  const planOf = new Map(planned.map((plan) => [plan.slot, plan]));

  function orderFollowed(ordinal: number, slot: Slot): number | undefined {
    if (slot.followUp === undefined) return undefined;
    const plan = planOf.get(slot);
    if (plan === undefined) return undefined;
    const { followUp, blocksBack, leastGap } = plan;
    const choice = hash(key, ordinal, salt.order);
    const block = blockOf(ordinal) - blocksBack;
    for (let attempt = 0; attempt < attempts; attempt++) {
      for (let tried = 0; tried < followUp.count; tried++) {
        const order = mix.ordinalOf(block - attempt, followUp.first + ((choice + tried) % followUp.count));
        if (order <= ordinal - leastGap) return order;
      }
    }
    // A whole block lies between them, which is more than the required gap.
    return mix.ordinalOf(block - attempts, followUp.first);
  }

  return {
    orderOf: (ordinal, slot) => (slot.startsOrder ? ordinal : orderFollowed(ordinal, slot)),
    followUpsOf: (order) => {
      const { index } = mix.slotOf(order);
      const found: number[] = [];
      for (const { slot, followUp, blocksBack } of planned) {
        if (index < followUp.first || index >= followUp.first + followUp.count) continue;
        for (let attempt = 0; attempt <= attempts; attempt++) {
          const ordinal = mix.ordinalOf(blockOf(order) + blocksBack + attempt, slot.index);
          if (orderFollowed(ordinal, slot) === order) found.push(ordinal);
        }
      }
      return found.sort((a, b) => a - b);
    },
  };
}
