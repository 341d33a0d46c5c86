import type { EventListName } from '../../sources/finances/api-v0/event-records.js';
import {
  elements,
  type Amounts,
  byTurn,
  charges,
  type EventContext,
  type EventSink,
  type EventWriter,
  fees,
  millionthsOf,
  taxWithheld,
} from './event-writer.js';
import type { Order, OrderItem } from '../profiles/seller-profile.js';

function writeOrderHead(context: EventContext, sink: EventSink, order: Order): void {
  const { draw, marketplace, profile } = context;
  sink.order('AmazonOrderId', context.order);
  if (order.sellerOrderId !== undefined) sink.text('SellerOrderId', order.sellerOrderId);
  else if (!draw.oneIn(12)) sink.order('SellerOrderId', context.order);
  if (!profile.oddities) sink.text('MarketplaceName', marketplace.name);
  else if (!draw.oneIn(40)) sink.text('MarketplaceName', draw.oneIn(30) ? 'Non-Amazon' : marketplace.name);
  if (draw.oneIn(2)) sink.words('StoreName', draw.pick(marketplace.stores));
}

function directPayment(sink: EventSink, type: string, millionths: number): void {
  elements(sink, 'DirectPaymentList', [type], () => {
    sink.text('DirectPaymentType', type);
    sink.net('DirectPaymentAmount', millionths);
  });
}

function promotion(sink: EventSink, key: string, id: string, millionths: number): void {
  elements(sink, key, [id], () => {
    sink.text('PromotionType', 'PromotionMetaDataDefinitionValue');
    sink.text('PromotionId', `Amazon Core Deal ${id}`);
    sink.net('PromotionAmount', millionths);
  });
}

/** Charges and fees of an order shipped for another shop, which belong to no item. */
function writeOrderAmounts(context: EventContext, sink: EventSink, adjustment: '' | 'Adjustment', sign: 1 | -1): void {
  const { draw, profile } = context;
  if (!profile.oddities) return;
  const amount = (cents: number) => sign * millionthsOf(context, cents);
  if (draw.oneIn(20)) {
    charges(sink, `OrderCharge${adjustment}List`, [
      ['CODOrderCharge', amount(draw.between(100, 900))],
      ['CODOrderTaxCharge', amount(0)],
    ]);
  }
  if (draw.oneIn(16))
    fees(sink, `ShipmentFee${adjustment}List`, [['FBATransportationFee', amount(-draw.between(30, 999))]]);
  if (draw.oneIn(20)) {
    fees(sink, `OrderFee${adjustment}List`, [['FBAPerOrderFulfillmentFee', amount(-draw.between(100, 500))]]);
  }
  if (draw.oneIn(24)) {
    directPayment(
      sink,
      sign > 0 ? 'CollectOnDeliveryRevenue' : 'CollectOnDeliveryRefund',
      amount(-draw.between(500, 3000)),
    );
  }
}

function chargesOf(item: OrderItem, minorUnit: number): Amounts {
  return [
    ['Principal', item.principal * minorUnit],
    ['Tax', item.tax * minorUnit],
    ['GiftWrap', item.giftwrap * minorUnit],
    ['GiftWrapTax', 0],
    ['ShippingCharge', item.shipping * minorUnit],
    ['ShippingTax', item.shippingTax * minorUnit],
  ];
}

function feesOf(item: OrderItem, minorUnit: number, tiny: number): Amounts {
  const digital = item.digitalServices * minorUnit - tiny;
  const always: Amounts = [
    ['Commission', item.commission * minorUnit],
    ['FixedClosingFee', 0],
    ['VariableClosingFee', 0],
  ];
  const fulfilled: Amounts = item.fulfilment === 0 ? [] : [['FBAPerUnitFulfillmentFee', item.fulfilment * minorUnit]];
  return [...fulfilled, ...always, ...(digital === 0 ? [] : [['DigitalServicesFee', digital] as const])];
}

function shipmentItem(
  { draw, marketplace: { minorUnit }, profile }: EventContext,
  sink: EventSink,
  order: Order,
  item: OrderItem,
): void {
  // A fee below the smallest coin, down to the last decimal place that the lake stores.
  const tiny = profile.oddities && draw.oneIn(40) ? draw.pick([125, 1, draw.between(1, 99_999)]) : 0;
  sink.words('SellerSKU', item.product.sku);
  sink.text('OrderItemId', item.orderItemId);
  sink.number('QuantityShipped', item.quantity);
  charges(sink, 'ItemChargeList', chargesOf(item, minorUnit));
  fees(sink, 'ItemFeeList', feesOf(item, minorUnit, tiny));
  if (item.tax !== 0 || (profile.oddities && draw.oneIn(3))) {
    taxWithheld(sink, 'ItemTaxWithheldList', order.facilitated, [
      ['MarketplaceFacilitatorTax-Principal', -item.tax * minorUnit],
      ['MarketplaceFacilitatorTax-Shipping', -item.shippingTax * minorUnit],
    ]);
  }
  if (item.promotion !== 0) promotion(sink, 'PromotionList', item.promotionId, item.promotion * minorUnit);
  if (item.points !== 0) sink.net('CostOfPointsGranted', item.points * minorUnit);
}

/**
 * The members in which the service puts refunds: mostly adjustments of the adjusted items, sometimes adjustments of the
 * items, or the plain lists of the adjusted items.
 */
interface RefundShape {
  readonly items: 'ShipmentItemList' | 'ShipmentItemAdjustmentList';
  readonly adjustment: '' | 'Adjustment';
  readonly points: 'CostOfPointsGranted' | 'CostOfPointsReturned';
  /** Whether lists are written even if they are empty or zero. */
  readonly complete: boolean;
}

const usual: RefundShape = {
  items: 'ShipmentItemAdjustmentList',
  adjustment: 'Adjustment',
  points: 'CostOfPointsReturned',
  complete: false,
};

const onItems: RefundShape = { ...usual, items: 'ShipmentItemList', complete: true };

const plain: RefundShape = { ...usual, adjustment: '', points: 'CostOfPointsGranted', complete: true };

function refundedItem(context: EventContext, sink: EventSink, order: Order, item: OrderItem, shape: RefundShape): void {
  const { draw, marketplace } = context;
  const { minorUnit } = marketplace;
  const quantity = draw.between(1, item.quantity);
  const refunded = (amount: number) => -Math.trunc((amount * quantity) / item.quantity) * minorUnit;
  const commission = refunded(item.commission);
  sink.words('SellerSKU', item.product.sku);
  if (shape.complete || draw.oneIn(2)) sink.text('OrderItemId', item.orderItemId);
  sink.text('OrderAdjustmentItemId', draw.digits(14));
  sink.number('QuantityShipped', quantity);
  charges(sink, `ItemCharge${shape.adjustment}List`, [
    ['Principal', refunded(item.principal)],
    ['Tax', refunded(item.tax)],
    ...(item.shipping === 0 ? [] : ([['ShippingCharge', refunded(item.shipping)]] as const)),
    ...(draw.oneIn(10) ? ([['Goodwill', -millionthsOf(context, draw.between(50, 500))]] as const) : []),
  ]);
  fees(sink, `ItemFee${shape.adjustment}List`, [
    ['Commission', commission],
    ['RefundCommission', -Math.trunc(commission / minorUnit / 5) * minorUnit],
  ]);
  if (shape.complete || item.tax !== 0) {
    taxWithheld(sink, 'ItemTaxWithheldList', order.facilitated || shape.complete, [
      ['MarketplaceFacilitatorTax-Principal', -refunded(item.tax)],
      ['MarketplaceFacilitatorTax-Shipping', 0],
    ]);
  }
  if (shape.complete || item.promotion !== 0) {
    promotion(sink, `Promotion${shape.adjustment}List`, item.promotionId || draw.code(10), refunded(item.promotion));
  }
  if (shape.complete || item.points !== 0) sink.net(shape.points, refunded(item.points));
}

function shapeOf({ draw, profile }: EventContext): RefundShape {
  if (!profile.oddities) return usual;
  const choice = draw.below(8);
  return choice === 0 ? onItems : choice === 1 ? plain : usual;
}

function refundedOrder(context: EventContext, sink: EventSink, shape: RefundShape): void {
  const { draw } = context;
  const order = context.drawnOrder();
  writeOrderHead(context, sink, order);
  writeOrderAmounts(context, sink, 'Adjustment', -1);
  sink.instant('PostedDate', context.at);
  const items = draw.oneIn(2) ? order.items : [draw.pick(order.items)];
  elements(sink, shape.items, items, (item) => {
    refundedItem(context, sink, order, item, shape);
  });
}

/** A guarantee claim or a chargeback. Its shape is chosen by turn, as there are few of them. */
const claim: EventWriter = (context, sink) => {
  refundedOrder(context, sink, context.profile.oddities ? byTurn(context, [onItems, plain, usual]) : usual);
};

export const shipmentWriters = {
  /** A shipped order with its charges and fees. */
  ShipmentEventList: (context, sink) => {
    const order = context.drawnOrder();
    writeOrderHead(context, sink, order);
    writeOrderAmounts(context, sink, '', 1);
    sink.instant('PostedDate', context.at);
    elements(sink, 'ShipmentItemList', order.items, (item) => {
      shipmentItem(context, sink, order, item);
    });
  },
  /** A refund of an earlier order: what the buyer gets back, and the fees that the seller does. */
  RefundEventList: (context, sink) => {
    refundedOrder(context, sink, shapeOf(context));
  },
  GuaranteeClaimEventList: claim,
  ChargebackEventList: claim,
  /** A later settlement of a shipment: fees found since are charged to the order's items. */
  ShipmentSettleEventList: (context, sink) => {
    const { draw } = context;
    const order = context.drawnOrder();
    writeOrderHead(context, sink, order);
    sink.instant('PostedDate', context.at);
    elements(sink, 'ShipmentItemList', order.items, (item) => {
      sink.words('SellerSKU', item.product.sku);
      sink.text('OrderItemId', item.orderItemId);
      sink.number('QuantityShipped', item.quantity);
      fees(sink, 'ItemFeeList', [['FBAWeightBasedFee', -millionthsOf(context, draw.between(20, 400))]]);
    });
  },
} satisfies Partial<Record<EventListName, EventWriter>>;
