import { type Booking, mostly, price, share, type Writer } from './booking.js';
import type { Draft } from './event-writer.js';
import { products } from './catalogue.js';

function merchantOrderId(order: number): string {
  return `RM-${order.toString(36).toUpperCase()}`;
}

function itemHead({ draw }: Booking, draft: Draft, facilitated: boolean): void {
  draft.text('RemovalShipmentItemId', draw.digits(11));
  draft.text('TaxCollectionModel', facilitated ? 'MarketplaceFacilitator' : 'Standard');
  draft.text('FulfillmentNetworkSKU', draw.pick(products).fnSku);
}

/** Stock that was sold off in bulk. */
export const removalShipment: Writer = (booking, draft) => {
  const { draw } = booking;
  draft.instant('PostedDate', booking.at);
  if (mostly(booking, 0)) draft.text('MerchantOrderId', merchantOrderId(booking.order));
  draft.order('OrderId', booking.order);
  draft.text('TransactionType', 'WHOLESALE_LIQUIDATION');
  if (mostly(booking, 1)) draft.words('StoreName', draw.pick(booking.market.stores));
  draft.beginList('RemovalShipmentItemList');
  for (let left = draw.between(1, 3); left > 0; left--) {
    const facilitated = draw.once(2);
    const revenue = price(booking, 50, 5000);
    const tax = share(booking, revenue, 8);
    draft.beginElement();
    itemHead(booking, draft, facilitated);
    draft.number('Quantity', draw.between(1, 40));
    draft.net('Revenue', revenue);
    draft.net('FeeAmount', share(booking, -revenue, 15));
    draft.net('TaxAmount', tax);
    draft.net('TaxWithheld', facilitated ? -tax : 0);
    draft.endElement();
  }
  draft.endList();
};

/** What a bulk buyer disputed. */
export const removalAdjustment: Writer = (booking, draft) => {
  const { draw } = booking;
  const facilitated = draw.once(2);
  const revenue = -price(booking, 50, 900);
  const tax = share(booking, revenue, 8);
  draft.instant('PostedDate', booking.at);
  draft.text('AdjustmentEventId', `ADJ${draw.digits(12)}`);
  if (mostly(booking, 0)) draft.text('MerchantOrderId', merchantOrderId(booking.order));
  draft.order('OrderId', booking.order);
  draft.text('TransactionType', 'WHOLESALE_LIQUIDATION');
  draft.beginList('RemovalShipmentItemAdjustmentList');
  draft.beginElement();
  itemHead(booking, draft, facilitated);
  draft.number('AdjustedQuantity', draw.between(1, 5));
  draft.net('RevenueAdjustment', revenue);
  draft.net('TaxAmountAdjustment', tax);
  draft.net('TaxWithheldAdjustment', facilitated ? -tax : 0);
  draft.endElement();
  draft.endList();
};

export const liquidation: Writer = (booking, draft) => {
  const proceeds = price(booking, 100, 9000);
  draft.instant('PostedDate', booking.at);
  draft.order('OriginalRemovalOrderId', booking.order);
  draft.net('LiquidationProceedsAmount', proceeds);
  draft.net('LiquidationFeeAmount', share(booking, -proceeds, 20));
};
