import type { Booking, Writer } from './booking.js';
import { type Amounts, charges, type Draft, fees, taxWithheld } from './event-writer.js';
import type { Order, OrderItem } from './order-model.js';

function head(booking: Booking, draft: Draft, order: Order): void {
  const { draw, market } = booking;
  draft.order('AmazonOrderId', booking.order);
  if (order.sellerOrderId !== undefined) draft.text('SellerOrderId', order.sellerOrderId);
  else if (!draw.once(12)) draft.order('SellerOrderId', booking.order);
  if (!draw.once(40)) draft.text('MarketplaceName', draw.once(30) ? 'Non-Amazon' : market.name);
  if (draw.once(2)) draft.words('StoreName', draw.pick(market.stores));
}

function directPayment(draft: Draft, type: string, millionths: number): void {
  draft.beginList('DirectPaymentList');
  draft.beginElement();
  draft.text('DirectPaymentType', type);
  draft.net('DirectPaymentAmount', millionths);
  draft.endElement();
  draft.endList();
}

function promotion(draft: Draft, key: string, id: string, millionths: number): void {
  draft.beginList(key);
  draft.beginElement();
  draft.text('PromotionType', 'PromotionMetaDataDefinitionValue');
  draft.text('PromotionId', `Amazon Core Deal ${id}`);
  draft.net('PromotionAmount', millionths);
  draft.endElement();
  draft.endList();
}

/** Charges and fees of an order shipped for another shop, which stand beside its items. */
function orderLevel(booking: Booking, draft: Draft, adjustment: '' | 'Adjustment', sign: 1 | -1): void {
  const { draw, market } = booking;
  const amount = (cents: number) => sign * cents * market.level * market.unit;
  if (draw.once(20)) {
    charges(draft, `OrderCharge${adjustment}List`, [
      ['CODOrderCharge', amount(draw.between(100, 900))],
      ['CODOrderTaxCharge', amount(0)],
    ]);
  }
  if (draw.once(16))
    fees(draft, `ShipmentFee${adjustment}List`, [['FBATransportationFee', amount(-draw.between(30, 999))]]);
  if (draw.once(20)) {
    fees(draft, `OrderFee${adjustment}List`, [['FBAPerOrderFulfillmentFee', amount(-draw.between(100, 500))]]);
  }
  if (draw.once(24)) {
    directPayment(
      draft,
      sign > 0 ? 'CollectOnDeliveryRevenue' : 'CollectOnDeliveryRefund',
      amount(-draw.between(500, 3000)),
    );
  }
}

function chargesOf(item: OrderItem, unit: number): Amounts {
  return [
    ['Principal', item.principal * unit],
    ['Tax', item.tax * unit],
    ['GiftWrap', item.giftwrap * unit],
    ['GiftWrapTax', 0],
    ['ShippingCharge', item.shipping * unit],
    ['ShippingTax', item.shippingTax * unit],
  ];
}

function feesOf(item: OrderItem, unit: number, tiny: number): Amounts {
  const always: Amounts = [
    ['Commission', item.commission * unit],
    ['FixedClosingFee', 0],
    ['VariableClosingFee', 0],
  ];
  const fulfilled: Amounts = item.fulfilment === 0 ? [] : [['FBAPerUnitFulfillmentFee', item.fulfilment * unit]];
  return [...fulfilled, ...always, ...(tiny === 0 ? [] : [['DigitalServicesFee', -tiny] as const])];
}

function shipmentItem({ draw, market: { unit } }: Booking, draft: Draft, order: Order, item: OrderItem): void {
  // A fee below the smallest coin, to the last digit that the lake can hold.
  const tiny = draw.once(40) ? draw.pick([125, 1, draw.between(1, 99_999)]) : 0;
  const hasGranted = item.points !== 0;
  draft.beginElement();
  draft.words('SellerSKU', item.product.sku);
  draft.text('OrderItemId', item.orderItemId);
  draft.number('QuantityShipped', item.quantity);
  charges(draft, 'ItemChargeList', chargesOf(item, unit));
  fees(draft, 'ItemFeeList', feesOf(item, unit, tiny));
  if (item.tax !== 0 || draw.once(3)) {
    taxWithheld(draft, 'ItemTaxWithheldList', order.facilitated, [
      ['MarketplaceFacilitatorTax-Principal', -item.tax * unit],
      ['MarketplaceFacilitatorTax-Shipping', -item.shippingTax * unit],
    ]);
  }
  if (item.promotion !== 0) promotion(draft, 'PromotionList', item.promotionId, item.promotion * unit);
  if (hasGranted) draft.net('CostOfPointsGranted', item.points * unit);
  draft.endElement();
}

/** What was sent and what it brought. */
export const shipment: Writer = (booking, draft) => {
  const order = booking.orderContents();
  head(booking, draft, order);
  orderLevel(booking, draft, '', 1);
  draft.instant('PostedDate', booking.at);
  draft.beginList('ShipmentItemList');
  for (const item of order.items) shipmentItem(booking, draft, order, item);
  draft.endList();
};

/**
 * Where the service puts what is given back: mostly in adjustments of the adjusted items, at times in adjustments of
 * the items, or in the plain lists of the adjusted items.
 */
interface Shape {
  readonly items: 'ShipmentItemList' | 'ShipmentItemAdjustmentList';
  readonly adjustment: '' | 'Adjustment';
  readonly points: 'CostOfPointsGranted' | 'CostOfPointsReturned';
  /** Lists come also where they have nothing to say. */
  readonly complete: boolean;
}

const usual: Shape = {
  items: 'ShipmentItemAdjustmentList',
  adjustment: 'Adjustment',
  points: 'CostOfPointsReturned',
  complete: false,
};
const onItems: Shape = { ...usual, items: 'ShipmentItemList', complete: true };
const plain: Shape = { ...usual, adjustment: '', points: 'CostOfPointsGranted', complete: true };

function returnedItem(booking: Booking, draft: Draft, order: Order, item: OrderItem, shape: Shape): void {
  const { draw, market } = booking;
  const { unit } = market;
  const quantity = draw.between(1, item.quantity);
  const part = (amount: number) => -Math.trunc((amount * quantity) / item.quantity) * unit;
  const commission = part(item.commission);
  draft.beginElement();
  draft.words('SellerSKU', item.product.sku);
  if (shape.complete || draw.once(2)) draft.text('OrderItemId', item.orderItemId);
  draft.text('OrderAdjustmentItemId', draw.digits(14));
  draft.number('QuantityShipped', quantity);
  charges(draft, `ItemCharge${shape.adjustment}List`, [
    ['Principal', part(item.principal)],
    ['Tax', part(item.tax)],
    ...(item.shipping === 0 ? [] : ([['ShippingCharge', part(item.shipping)]] as const)),
    ...(draw.once(10) ? ([['Goodwill', -draw.between(50, 500) * market.level * unit]] as const) : []),
  ]);
  fees(draft, `ItemFee${shape.adjustment}List`, [
    ['Commission', commission],
    ['RefundCommission', -Math.trunc(commission / unit / 5) * unit],
  ]);
  if (shape.complete || item.tax !== 0) {
    taxWithheld(draft, 'ItemTaxWithheldList', order.facilitated || shape.complete, [
      ['MarketplaceFacilitatorTax-Principal', -part(item.tax)],
      ['MarketplaceFacilitatorTax-Shipping', 0],
    ]);
  }
  if (shape.complete || item.promotion !== 0) {
    promotion(draft, `Promotion${shape.adjustment}List`, item.promotionId || draw.code(10), part(item.promotion));
  }
  if (shape.complete || item.points !== 0) draft.net(shape.points, part(item.points));
  draft.endElement();
}

function shapeOf({ draw }: Booking): Shape {
  const way = draw.below(8);
  return way === 0 ? onItems : way === 1 ? plain : usual;
}

function givenBack(booking: Booking, draft: Draft, shape: Shape): void {
  const { draw } = booking;
  const order = booking.orderContents();
  head(booking, draft, order);
  orderLevel(booking, draft, 'Adjustment', -1);
  draft.instant('PostedDate', booking.at);
  const items = draw.once(2) ? order.items : [draw.pick(order.items)];
  draft.beginList(shape.items);
  for (const item of items) returnedItem(booking, draft, order, item, shape);
  draft.endList();
}

/** What the buyer of an earlier order gets back, and which fees the seller does. */
export const refund: Writer = (booking, draft) => {
  givenBack(booking, draft, shapeOf(booking));
};

/** A guarantee claim or a chargeback: the shapes come by turns, since they are few. */
export const claim: Writer = (booking, draft) => {
  const way = ((booking.turn % 3) + 3) % 3;
  givenBack(booking, draft, way === 0 ? onItems : way === 1 ? plain : usual);
};

/** A shipment whose charges were settled later: what came to light since is charged to the order's items. */
export const settlement: Writer = (booking, draft) => {
  const { draw, market } = booking;
  const order = booking.orderContents();
  head(booking, draft, order);
  draft.instant('PostedDate', booking.at);
  draft.beginList('ShipmentItemList');
  for (const item of order.items) {
    draft.beginElement();
    draft.words('SellerSKU', item.product.sku);
    draft.text('OrderItemId', item.orderItemId);
    draft.number('QuantityShipped', item.quantity);
    fees(draft, 'ItemFeeList', [['FBAWeightBasedFee', -draw.between(20, 400) * market.level * market.unit]]);
    draft.endElement();
  }
  draft.endList();
};
