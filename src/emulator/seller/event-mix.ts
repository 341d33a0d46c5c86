import type { EventListName } from '../../sources/finances/model/records.js';
import { Draw, hash } from './seeded-random.js';

/**
 * Events come in blocks of 120 with the same composition and an order of their own, so that any 239 events in a row
 * hold every list. A slot is a place in the composition.
 */
export const blockSize = 120;

const often: Partial<Record<EventListName, number>> = {
  ShipmentEventList: 68,
  RefundEventList: 10,
  ServiceFeeEventList: 6,
  AdjustmentEventList: 4,
  ProductAdsPaymentEventList: 2,
  CouponPaymentEventList: 2,
};

const once: readonly EventListName[] = [
  'ShipmentSettleEventList',
  'GuaranteeClaimEventList',
  'EBTRefundReimbursementOnlyEventList',
  'ChargebackEventList',
  'PayWithAmazonEventList',
  'ServiceProviderCreditEventList',
  'RetrochargeEventList',
  'RentalTransactionEventList',
  'SellerDealPaymentEventList',
  'DebtRecoveryEventList',
  'LoanServicingEventList',
  'SAFETReimbursementEventList',
  'SellerReviewEnrollmentPaymentEventList',
  'FBALiquidationEventList',
  'ImagingServicesFeeEventList',
  'NetworkComminglingTransactionEventList',
  'AffordabilityExpenseEventList',
  'AffordabilityExpenseReversalEventList',
  'RemovalShipmentEventList',
  'RemovalShipmentAdjustmentEventList',
  'TrialShipmentEventList',
  'TDSReimbursementEventList',
  'AdhocDisbursementEventList',
  'TaxWithholdingEventList',
  'ChargeRefundEventList',
  'FailedAdhocDisbursementEventList',
  'ValueAddedServiceChargeEventList',
  'CapacityReservationBillingEventList',
];

/** The lists whose events answer an earlier order, and how many days later; undefined: this one has no order. */
const replies: Partial<Record<EventListName, readonly (number | undefined)[]>> = {
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
const removalReplies: readonly EventListName[] = ['RemovalShipmentAdjustmentEventList', 'FBALiquidationEventList'];
/** The second event of these lists in a block is at times the first one once more, right behind it. */
const twinLists: readonly EventListName[] = ['ServiceFeeEventList', 'AdjustmentEventList'];

export interface Reply {
  /** Slots of the orders that may be answered: the first one and how many. */
  readonly first: number;
  readonly count: number;
  /** How many days the order lies back. */
  readonly days: number;
}

export interface Slot {
  readonly index: number;
  readonly list: EventListName;
  /** Which of its list's slots in the block, from 0. */
  readonly nth: number;
  /** Whether the event begins an order, whose id stands for it. */
  readonly order: boolean;
  readonly reply: Reply | undefined;
  readonly twin: boolean;
}

function replyOf(list: EventListName, nth: number, removal: number): Reply | undefined {
  const days = replies[list]?.[nth];
  if (days === undefined) return undefined;
  if (removalReplies.includes(list)) return { first: removal, count: 1, days };
  // Each refund of a block has orders of its own, so that no order is refunded twice.
  return list === 'RefundEventList' ? { first: nth * 6, count: 6, days } : { first: 0, count: 68, days };
}

export const slots: readonly Slot[] = (() => {
  const names = Object.entries(often) as [EventListName, number][];
  const lists = [...names, ...once.map((list): [EventListName, number] => [list, 1])];
  const all = lists.flatMap(([list, count]) => Array.from({ length: count }, (_, nth) => ({ list, nth })));
  const removal = all.findIndex(({ list }) => list === 'RemovalShipmentEventList');
  return all.map(({ list, nth }, index) => ({
    index,
    list,
    nth,
    order: orderLists.includes(list),
    reply: replyOf(list, nth, removal),
    twin: nth === 1 && twinLists.includes(list),
  }));
})();

/** The orders that blocks come in: enough that no pattern shows, few enough for a table. */
const arrangements = 64;
const salt = { arrangement: 11, shuffle: 12 };

export interface Kinds {
  /** What an event is. */
  slotOf: (ordinal: number) => Slot;
  /** The event that has the slot in a block. */
  ordinalOf(block: number, slot: number): number;
  /** Whether the event is the one before it once more. */
  isTwin(ordinal: number, slot: Slot): boolean;
}

export function blockOf(ordinal: number): number {
  return Math.floor(ordinal / blockSize);
}

/** A shuffled block in which each twin stands behind its sibling. */
function arrange(draw: Draw): Uint8Array {
  const places = slots.filter(({ twin }) => !twin).map(({ index }) => index);
  for (let last = places.length - 1; last > 0; last--) {
    const other = draw.below(last + 1);
    [places[last], places[other]] = [places[other] ?? 0, places[last] ?? 0];
  }
  return Uint8Array.from(places.flatMap((slot) => (slots[slot + 1]?.twin === true ? [slot, slot + 1] : [slot])));
}

/** Which event is of which kind, by its ordinal alone. */
export function createKinds(key: number): Kinds {
  const draw = new Draw();
  const tables = Array.from({ length: arrangements }, (_, n) => {
    const slotAt = arrange(draw.begin(key, n, salt.shuffle));
    const placeOf = new Uint8Array(blockSize);
    slotAt.forEach((slot, place) => (placeOf[slot] = place));
    return { slotAt, placeOf };
  });
  const tableOf = (block: number) => tables[hash(key, block, salt.arrangement) % arrangements];

  function slotOf(ordinal: number): Slot {
    const block = blockOf(ordinal);
    const slot = slots[tableOf(block)?.slotAt[ordinal - block * blockSize] ?? 0];
    if (slot === undefined) throw new Error(`There is no slot for event ${ordinal}`);
    return slot;
  }
  return {
    slotOf,
    ordinalOf: (block, slot) => block * blockSize + (tableOf(block)?.placeOf[slot] ?? 0),
    isTwin: (ordinal, slot) => slot.twin && blockOf(ordinal) % 3 === 0,
  };
}
